"""How much of the relay's memory one worker may take."""

from __future__ import annotations

from typing import NamedTuple

from jobrelay.kube.object_budget import ObjectBudget

_MIB = 1024 * 1024


class Bounds(NamedTuple):
    """A worker that exceeds one of these is not used, and the others go on.

    They are far above what a cluster has: its store takes no object of more than 1.5 MiB.
    """

    max_mirrors: int = 100_000
    max_mirror_bytes: int = 256 * _MIB
    max_nodes_and_pods: int = 300_000
    max_node_and_pod_bytes: int = 256 * _MIB
    max_object_bytes: int = 2 * _MIB

    def mirrors(self) -> ObjectBudget:
        return ObjectBudget(
            "mirrors",
            max_objects=self.max_mirrors,
            max_bytes=self.max_mirror_bytes,
            max_object_bytes=self.max_object_bytes,
        )

    def capacity(self) -> ObjectBudget:
        return ObjectBudget(
            "nodes and pods",
            max_objects=self.max_nodes_and_pods,
            max_bytes=self.max_node_and_pod_bytes,
            max_object_bytes=self.max_object_bytes,
        )


DEFAULT_BOUNDS = Bounds()
