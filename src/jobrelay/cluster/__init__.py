"""The embedded cluster: an API server with its store and controllers, in one process.

    from jobrelay.cluster import Cluster

    async with Cluster() as cluster:
        client = cluster.client()

`Cluster` is imported on first use, so that commands which only read a cluster's folder start fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobrelay.cluster.cluster import Cluster
    from jobrelay.cluster.inprocess import InProcessTransport
    from jobrelay.cluster.node.settings import NodeSettings

__all__ = ["Cluster", "InProcessTransport", "NodeSettings"]


def __getattr__(name: str) -> Any:
    if name == "Cluster":
        from jobrelay.cluster.cluster import Cluster

        return Cluster
    if name == "InProcessTransport":
        from jobrelay.cluster.inprocess import InProcessTransport

        return InProcessTransport
    if name == "NodeSettings":
        from jobrelay.cluster.node.settings import NodeSettings

        return NodeSettings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
