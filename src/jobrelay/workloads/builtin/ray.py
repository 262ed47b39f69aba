"""RayJobs, RayClusters and RayServices: what KubeRay adds to the pods that they describe.

The head gets a container for the autoscaler, and in SidecarMode one that submits the job. A RayJob may ask to be
deleted after its end: on a worker that would remove the mirror before its end is seen, so its cluster is deleted
instead, and the RayJob stays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from jobrelay.kube import Object
from jobrelay.workloads.adapter import NOTHING_FOUND, Found, MirrorParameters
from jobrelay.workloads.declared import DeclaredAdapter, KindDescription, paths
from jobrelay.workloads.declared.demand import TemplateSet

_AUTOSCALER: Final = {"requests": {"cpu": "500m", "memory": "512Mi"}}
_SUBMITTER: Final = {"requests": {"cpu": "500m", "memory": "200Mi"}}


class RayAdapter(DeclaredAdapter):
    """A kind of KubeRay; `cluster` is the path of the RayCluster's spec in it."""

    def __init__(self, kind: KindDescription, cluster: str) -> None:
        super().__init__(kind)
        self._cluster = cluster

    def template_sets(self, whole: dict[str, Any], found: Found = NOTHING_FOUND) -> list[TemplateSet]:
        head = (*paths.plain(self._cluster), "headGroupSpec", "template")
        added = self._added(whole)
        sets = super().template_sets(whole, found)
        return [_with_containers(each, added) if added and each.place == head else each for each in sets]

    def _added(self, whole: Mapping[str, Any]) -> list[dict[str, Any]]:
        added = []
        if paths.first(f"{self._cluster}.enableInTreeAutoscaling", whole) is True:
            own = paths.first(f"{self._cluster}.autoscalerOptions.resources", whole)
            added.append({"name": "autoscaler", "resources": own if isinstance(own, dict) else _AUTOSCALER})
        if paths.first("spec.submissionMode", whole) == "SidecarMode":
            added.append({"name": "ray-job-submitter", "resources": _SUBMITTER})
        return added


class RayJobAdapter(RayAdapter):
    """RayJobs, which must not delete themselves on a worker."""

    def mirror(self, original: Object, parameters: MirrorParameters) -> dict[str, Any]:
        body = super().mirror(original, parameters)
        for path in ("onSuccess", "onFailure", "deletionRules.*"):
            for rule in paths.values(f"spec.deletionStrategy.{path}", body):
                if isinstance(rule, dict) and rule.get("policy") == "DeleteSelf":
                    rule["policy"] = "DeleteCluster"
        return body


def _with_containers(head: TemplateSet, added: list[dict[str, Any]]) -> TemplateSet:
    pod = head.template.get("spec")
    pod = pod if isinstance(pod, dict) else {}
    containers = pod.get("containers")
    own = containers if isinstance(containers, list) else []
    template = {**head.template, "spec": {**pod, "containers": [*own, *added]}}
    return dataclasses.replace(head, template=template)


def ray_adapter(kind: KindDescription) -> RayAdapter:
    """The adapter of one of Ray's kinds; they differ in where the cluster is described."""
    match kind.resource.kind:
        case "RayJob":
            return RayJobAdapter(kind, "spec.rayClusterSpec")
        case "RayService":
            return RayAdapter(kind, "spec.rayClusterConfig")
        case _:
            return RayAdapter(kind, "spec")
