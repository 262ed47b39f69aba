"""The embedded cluster: an API server with its store and controllers, in one process.

    from jobrelay.cluster import Cluster

    async with Cluster() as cluster:
        client = cluster.client()

`Cluster` is imported on first use, so that commands which only read a cluster's folder start fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobrelay.cluster.cluster import Cluster
    from jobrelay.cluster.inprocess import InProcessTransport
    from jobrelay.cluster.node.settings import NodeSettings

__all__ = ["Cluster", "InProcessTransport", "NodeSettings"]


_MODULES = {"Cluster": "cluster", "InProcessTransport": "inprocess", "NodeSettings": "node.settings"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
