"""The kinds of networking.k8s.io."""

from __future__ import annotations

from typing import Final

from jobrelay.kinds.networking import addresses, ingress, networkpolicy
from jobrelay.kinds.strategy import Strategy

STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    **ingress.STRATEGIES,
    **networkpolicy.STRATEGIES,
    **addresses.STRATEGIES,
}
