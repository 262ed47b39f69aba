"""Nodes: objects that say what there is to run on, a scheduler, and runtimes that run what is bound to them."""

from __future__ import annotations

from jobrelay.cluster.node.pool import NodePool, set_up
from jobrelay.cluster.node.settings import NodeSettings, RuntimeName

__all__ = ["NodePool", "NodeSettings", "RuntimeName", "set_up"]
