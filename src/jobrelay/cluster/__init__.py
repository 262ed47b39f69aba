"""The embedded cluster: an API server with its store and controllers, in one process.

    from jobrelay.cluster import Cluster

    async with Cluster() as cluster:
        client = cluster.client()

`Cluster` is imported on first use, so that commands which only read a cluster's folder start fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from jobrelay.cluster.cluster import Cluster
    from jobrelay.cluster.inprocess import InProcessTransport
    from jobrelay.cluster.node.settings import NodeSettings

__all__ = ["Cluster", "InProcessTransport", "NodeSettings"]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, "node.settings", "inprocess", "cluster")
