"""The kinds of admissionregistration.k8s.io."""

from __future__ import annotations

from typing import Final

from jobrelay.kinds.admissionregistration import policies, webhooks
from jobrelay.kinds.strategy import Strategy

STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {**webhooks.STRATEGIES, **policies.STRATEGIES}
