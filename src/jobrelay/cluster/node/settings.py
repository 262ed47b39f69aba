"""Settings of a cluster's nodes: how many, how large, and how they run pods."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass, field
from typing import Any, Final, Literal

RuntimeName = Literal["process", "scripted", "none"]
_PODS: Final = {"process": 110, "scripted": 10_000}


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Settings of all nodes of a cluster.

    `cpu` and `memory` are quantities (`4`, `16Gi`); None means those of the machine. `extended` are extended resources
    that the nodes report, such as `nvidia.com/gpu`. For runtime `process`, `folder` is where it keeps volumes and logs,
    `api_address` (host:port) is where pods reach the API server, and `mounts` False gives pods no mounts of their own.
    """

    runtime: RuntimeName = "process"
    nodes: int = 1
    cpu: str | None = None
    memory: str | None = None
    pods: int | None = None
    extended: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[dict[str, Any], ...] = ()
    name: str = "node"
    folder: pathlib.Path | None = None
    api_address: str = ""
    mounts: bool = True

    def names(self) -> list[str]:
        """The nodes' names: `node` alone, or `node-0`, `node-1`, ..."""
        return [self.name] if self.nodes == 1 else [f"{self.name}-{number}" for number in range(self.nodes)]

    def capacity(self) -> dict[str, str]:
        """The capacity of one node, as in its status."""
        memory = self.memory or f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 1024}Ki"
        pods = _PODS.get(self.runtime, 110) if self.pods is None else self.pods
        return {
            "cpu": self.cpu or str(os.cpu_count() or 1), "ephemeral-storage": "100Gi", "memory": memory,
            "pods": str(pods), **self.extended,
        }  # fmt: skip
