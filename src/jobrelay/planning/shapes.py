"""What the Jobs of a trace need: read by the Job adapter and the relay from a Job, once for Jobs that are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from jobrelay.kube.objects import decode_object
from jobrelay.planning.fleet import GPU
from jobrelay.relay.names import CLUSTER_SELECTOR, CLUSTERS, PREFERRED
from jobrelay.relay.placement import PlacementRequest, read_request
from jobrelay.relay.placement.amounts import ceil_milli
from jobrelay.workloads import WorkloadDemand
from jobrelay.workloads.job import JobAdapter
from jobrelay.workloads.names import RELAY


class JobTexts(NamedTuple):
    """What a trace says about a Job apart from its name and times; amounts are quantities."""

    namespace: str = "default"
    cpu: str = "1"
    memory: str = "0"
    gpu: str = "0"
    pods: int = 1
    completions: int = 1
    clusters: str = ""
    preferred: str = ""
    selector: str = ""

    def job(self) -> dict[str, Any]:
        """The Job that a user would create."""
        wanted = {"cpu": self.cpu, "memory": self.memory, GPU: self.gpu}
        requests = {name: text for name, text in wanted.items() if text != "0"}
        named = {CLUSTERS: self.clusters, PREFERRED: self.preferred, CLUSTER_SELECTOR: self.selector}
        annotations = {name: text for name, text in named.items() if text}
        container = {"name": "main", "image": "none", "resources": {"requests": requests}}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "planned", "namespace": self.namespace, "annotations": annotations},
            "spec": {
                "managedBy": RELAY,
                "parallelism": self.pods,
                "completions": self.completions,
                "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            },
        }


@dataclass(frozen=True, slots=True, eq=False)
class JobShape:
    """Jobs that are alike in everything but name and times."""

    namespace: str
    pods: int
    """How many run at the same time."""
    completions: int
    """How many have to succeed."""
    requests: tuple[tuple[str, int], ...]
    """What each pod takes of its node, in thousandths; `pods` is one of them."""
    demand: WorkloadDemand
    request: PlacementRequest

    @property
    def cpu(self) -> float:
        """Of one pod."""
        return dict(self.requests).get("cpu", 0) / 1000


_adapter = JobAdapter()


def job_shape(texts: JobTexts) -> JobShape:
    """The shape of a Job, as the relay reads it."""
    original = decode_object(msgspec.json.encode(texts.job()))
    demand = _adapter.demand(original)
    (pods,) = demand.pod_sets
    requests = {name: ceil_milli(found) for name, found in pods.requests.items()} | {"pods": 1000}
    request = read_request(original.metadata.annotations, namespace=texts.namespace)
    return JobShape(texts.namespace, pods.count, texts.completions, tuple(requests.items()), demand, request)
