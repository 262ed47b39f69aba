"""Operating real clusters: installing the relay, and registering, joining, checking and removing workers.

Pure functions make the manifests (`management`, `identity`, `policy`). `applying`, `joining` and `leaving` apply and
remove them; `registry` keeps the list of workers on the management cluster; `checking` examines a worker without
changing it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from .applying import Step, apply
    from .checking import CheckRequest, check
    from .errors import OperateError
    from .findings import Finding
    from .joining import JoinRequest, join
    from .leaving import LeaveRequest, leave
    from .management import Installation, management_manifests
    from .registry import list_workers, register_worker, unregister_worker, worker_connection

__all__ = [
    "CheckRequest", "Finding", "Installation", "JoinRequest", "LeaveRequest", "OperateError", "Step", "apply", "check",
    "join", "leave", "list_workers", "management_manifests", "register_worker", "unregister_worker",
    "worker_connection",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(
        __name__, "errors", "applying", "management", "registry", "joining", "leaving", "checking", "findings"
    )
