"""TrainJobs, whose pods are described by the runtime that they name.

A runtime has the templates of one or several Jobs, which the patches of a TrainJob change. The Job that trains runs on
as many nodes as the TrainJob says, or else the runtime; with MPI those are the Job `node`, beside one launcher. What a
TrainJob asks for each node takes the place of what the runtime asks. Before the runtime is known, only what is in the
TrainJob itself is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobrelay.apimachinery.patch import PatchError, apply_strategic_patch
from jobrelay.apimachinery.types import Type, type_named
from jobrelay.kube import Object
from jobrelay.workloads.adapter import NOTHING_FOUND, Found
from jobrelay.workloads.declared import DeclaredAdapter, paths
from jobrelay.workloads.declared.demand import TemplateSet
from jobrelay.workloads.references import FieldPath, Reference, pod_references

_PATCHED_JOBS: Final = "spec.runtimePatches.*.trainingRuntimeSpec.template.spec.replicatedJobs"
_PATCHED_TEMPLATES: Final = f"{_PATCHED_JOBS}.*.template.spec.template"
_RUNTIME_JOBS: Final = "spec.template.spec.replicatedJobs.*"
_TEMPLATE: Final = "template.spec.template"
_STEP: Final = "template.metadata.labels[trainer.kubeflow.org/trainjob-ancestor-step]"
_RUNTIMES: Final = frozenset({"TrainingRuntime", "ClusterTrainingRuntime"})
_NODE: Final = "node"
"""The name of the container that trains, and with MPI that of the Job of the nodes."""
_MOST: Final = 1_000_000
"""More nodes than any cluster has."""


class TrainJobAdapter(DeclaredAdapter):
    """TrainJobs of Kubeflow Trainer."""

    def template_sets(self, whole: dict[str, Any], found: Found = NOTHING_FOUND) -> list[TemplateSet]:
        runtime = _runtime(found)
        if runtime is not None:
            return [_template_set(job, whole, runtime) for job in _jobs(runtime)]
        pod = {"metadata": {}, "spec": {"containers": [{"name": _NODE}]}}
        patched = _with_resources(_patched(pod, _NODE, whole), whole)
        return [TemplateSet(("spec", "trainer"), patched, _nodes(whole, {}))]

    def pod_templates(self, obj: Object) -> list[tuple[FieldPath, Mapping[str, Any]]]:
        """The patches of the runtime's pod templates, which may name objects as templates do."""
        found = paths.located(paths.parse(_PATCHED_TEMPLATES), paths.decoded(obj))
        return [(place, template) for place, template in found if isinstance(template, dict)]

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        named = list(super().references(original, found))
        for job in _jobs(_runtime(found) or {}):
            template = paths.first(_TEMPLATE, job)
            found_in = pod_references(template, original.namespace) if isinstance(template, dict) else []
            named += [Reference(each.resource, each.name, each.namespace, each.optional) for each in found_in]
        return tuple(named)


def _runtime(found: Found) -> dict[str, Any] | None:
    return next((paths.decoded(obj) for (resource, _), obj in found.items() if resource.kind in _RUNTIMES), None)


def _jobs(runtime: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (each for each in paths.values(_RUNTIME_JOBS, runtime) if isinstance(each, dict))


def _template_set(job: Mapping[str, Any], whole: Mapping[str, Any], runtime: Mapping[str, Any]) -> TemplateSet:
    """The pods of one Job of a runtime, as the TrainJob has them."""
    name, trains = job.get("name"), paths.first(_STEP, job) == "trainer"
    mpi = paths.first("spec.mlPolicy.mpi", runtime)
    launches = isinstance(mpi, dict) and mpi.get("runLauncherAsNode") is True
    parallelism = paths.first("template.spec.parallelism", job)
    count = _bounded(parallelism)
    if mpi is not None and name == _NODE:
        nodes = _nodes(whole, runtime)
        count = max(nodes - 1, 1) if launches else nodes
    elif mpi is None and trains:
        count = _nodes(whole, runtime)
    template = paths.first(_TEMPLATE, job)
    patched = _patched(template if isinstance(template, dict) else {}, name, whole)
    if trains or (launches and name == _NODE):
        patched = _with_resources(patched, whole)
    return TemplateSet(("spec", "runtimeRef"), patched, count)


def _nodes(whole: Mapping[str, Any], runtime: Mapping[str, Any]) -> int:
    own = paths.first("spec.trainer.numNodes", whole)
    return _bounded(paths.first("spec.mlPolicy.numNodes", runtime) if own is None else own)


def _bounded(number: Any) -> int:
    return min(max(0, number), _MOST) if type(number) is int else 1


def _patched(template: dict[str, Any], name: Any, whole: Mapping[str, Any]) -> dict[str, Any]:
    """A template with the patches for the Job of this name; one that cannot be applied is for the worker to refuse."""
    for patch in paths.values(f"{_PATCHED_JOBS}.*", whole):
        change = paths.first(_TEMPLATE, patch) if isinstance(patch, dict) and patch.get("name") == name else None
        if isinstance(change, dict):
            try:
                template = apply_strategic_patch(template, change, _pod_template())
            except PatchError:
                continue
    return template


def _pod_template() -> Type:
    found = type_named("io.k8s.api.core.v1.PodTemplateSpec")
    assert found is not None
    return found


def _with_resources(template: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """A template whose container that trains has the resources that the TrainJob asks for each node."""
    resources = paths.first("spec.trainer.resourcesPerNode", whole)
    pod = template.get("spec")
    if not isinstance(resources, dict) or not isinstance(pod, dict):
        return dict(template)
    containers = [
        {**each, "resources": resources} if each.get("name") == _NODE else each
        for each in paths.values("containers.*", pod)
        if isinstance(each, dict)
    ]
    return {**template, "spec": {**pod, "containers": containers}}
