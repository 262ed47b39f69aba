"""Component statuses: read-only, made up on each request.

All parts of this cluster run in one process: it is well or gone.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.kinds.strategy import Strategy

NAMES: Final = ("scheduler", "controller-manager", "etcd-0")


def component_statuses() -> list[dict[str, Any]]:
    """The components in the server's order."""
    healthy = {"type": "Healthy", "status": "True", "message": "ok"}
    return [{"metadata": {"name": name}, "conditions": [dict(healthy)]} for name in NAMES]


STRATEGIES: Final = {("", "componentstatuses"): Strategy()}
