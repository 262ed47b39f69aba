"""Nodes: Node objects with heartbeats, a scheduler, and runtimes that run the pods bound to a node."""

from __future__ import annotations

from jobrelay.cluster.node.pool import NodePool, set_up
from jobrelay.cluster.node.settings import NodeSettings, RuntimeName

__all__ = ["NodePool", "NodeSettings", "RuntimeName", "set_up"]
