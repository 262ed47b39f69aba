"""Operating real clusters: installing the relay, and registering, joining, checking and removing workers.

Pure functions make the manifests (`management`, `identity`, `policy`). `applying`, `joining` and `leaving` apply and
remove them; `registry` keeps the list of workers on the management cluster; `checking` examines a worker without
changing it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from .applying import ReportStep, Step, apply
    from .checking import Finding, check
    from .errors import OperateError
    from .identity import RelayIdentity, identity_manifests
    from .joining import JoinRequest, join
    from .leaving import LeaveRequest, leave
    from .management import Installation, management_manifests
    from .registry import (
        get_worker,
        list_workers,
        register_worker,
        set_worker_state,
        unregister_worker,
        worker_connection,
    )

__all__ = [
    "Finding",
    "Installation",
    "JoinRequest",
    "LeaveRequest",
    "OperateError",
    "RelayIdentity",
    "ReportStep",
    "Step",
    "apply",
    "check",
    "get_worker",
    "identity_manifests",
    "join",
    "leave",
    "list_workers",
    "management_manifests",
    "register_worker",
    "set_worker_state",
    "unregister_worker",
    "worker_connection",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(
        __name__,
        {
            "applying": "ReportStep Step apply",
            "checking": "Finding check",
            "errors": "OperateError",
            "identity": "RelayIdentity identity_manifests",
            "joining": "JoinRequest join",
            "leaving": "LeaveRequest leave",
            "management": "Installation management_manifests",
            "registry": "get_worker list_workers register_worker set_worker_state unregister_worker worker_connection",
        },
    )
