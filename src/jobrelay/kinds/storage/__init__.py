"""The kinds of storage.k8s.io."""

from __future__ import annotations

from typing import Final

from jobrelay.kinds.storage import attachments, classes, csi
from jobrelay.kinds.strategy import Strategy

STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    **classes.STRATEGIES,
    **csi.STRATEGIES,
    **attachments.STRATEGIES,
}
