"""The values that scheduling works on: what a pod demands, what a node offers, and what its pods have taken of it.

Pods with equal demands always fit or fail together, so a demand is hashable: pending pods are grouped by it, and of a
thousand equal pods only one is tried when no node fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec

from jobrelay.apimachinery import quantity
from jobrelay.kinds.core.pod.resources import total_requests
from jobrelay.kube.objects import Key, Object


class PodDemand(NamedTuple):
    """The part of a pod that decides which nodes it fits on."""

    requests: tuple[tuple[str, Fraction], ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: bytes = b"null"  # of spec.affinity.nodeAffinity
    tolerations: bytes = b"[]"
    ports: tuple[tuple[str, str, int], ...] = ()  # protocol, host address, host port


class AssignedPod(NamedTuple):
    """A pod that is bound to a node, or about to be."""

    key: Key
    uid: str
    node: str
    demand: PodDemand
    priority: int = 0
    since: str = ""  # the earlier, the more important

    @property
    def importance(self) -> tuple[int, str, Key]:
        """A sort key that puts the most important pod first."""
        return -self.priority, self.since, self.key


@dataclass(slots=True)
class NodeUsage:
    """What the pods of one node have taken."""

    pods: int = 0
    requests: dict[str, Fraction] = field(default_factory=dict)
    ports: dict[tuple[str, str, int], int] = field(default_factory=dict)

    def add(self, demand: PodDemand, times: int = 1) -> None:
        """Adds a pod's demand; with `times` -1 it is subtracted."""
        self.pods += times
        for name, amount in demand.requests:
            self.requests[name] = self.requests.get(name, Fraction(0)) + times * amount
        for port in demand.ports:
            self.ports[port] = self.ports.get(port, 0) + times


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """The part of a node that decides which pods fit on it."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, Any], ...]
    unschedulable: bool
    allocatable: Mapping[str, Fraction]


class _NodeSpec(msgspec.Struct):
    taints: list[dict[str, Any]] = []
    unschedulable: bool = False


class _NodeStatus(msgspec.Struct):
    allocatable: dict[str, str] = {}


class _Node(msgspec.Struct):
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


def node_info(node: Object) -> NodeInfo:
    view = node.decode(_Node)
    allocatable = {name: quantity.number(text) for name, text in view.status.allocatable.items()}
    return NodeInfo(node.name, node.metadata.labels, tuple(view.spec.taints), view.spec.unschedulable, allocatable)


def pod_demand(spec: Mapping[str, Any]) -> PodDemand:
    return PodDemand(
        tuple(sorted(total_requests(spec).items())),
        tuple(sorted((spec.get("nodeSelector") or {}).items())),
        msgspec.json.encode((spec.get("affinity") or {}).get("nodeAffinity")),
        msgspec.json.encode(spec.get("tolerations") or []),
        tuple(sorted(_host_ports(spec))),
    )


def claim_names(spec: Mapping[str, Any]) -> list[str]:
    """The claims that the volumes of a pod name."""
    found = [volume.get("persistentVolumeClaim") for volume in spec.get("volumes") or ()]
    return [claim["claimName"] for claim in found if claim]


def _host_ports(spec: Mapping[str, Any]) -> set[tuple[str, str, int]]:
    return {
        (port.get("protocol", "TCP"), port.get("hostIP") or "0.0.0.0", port["hostPort"])
        for container in spec.get("containers") or ()
        for port in container.get("ports") or ()
        if port.get("hostPort")
    }
