"""PipelineRuns and TaskRuns: pods that run steps, and the Pipelines and Tasks that name them.

A run describes the pods of tasks that are inline. Those of others are known once the Pipelines and Tasks that it names
are found. The pod of a task runs all of its steps, each in a container. A PipelineRun is counted as its largest task:
how many run at the same time depends on the order of its tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobrelay.kube import Object, Resource
from jobrelay.kube.resource import CONFIGMAPS, PERSISTENTVOLUMECLAIMS, SECRETS
from jobrelay.workloads.adapter import NOTHING_FOUND, Found
from jobrelay.workloads.declared import DeclaredAdapter, KindDescription, paths
from jobrelay.workloads.declared.demand import TemplateSet, pod_set
from jobrelay.workloads.references import FieldPath, Reference

PIPELINES: Final = Resource("tekton.dev", "v1", "pipelines", "Pipeline")
TASKS: Final = Resource("tekton.dev", "v1", "tasks", "Task")

_IN_TASK: Final = (
    ("volumes.*.secret.secretName", SECRETS),
    ("volumes.*.configMap.name", CONFIGMAPS),
    ("volumes.*.persistentVolumeClaim.claimName", PERSISTENTVOLUMECLAIMS),
    *((f"{part}.*.env.*.valueFrom.secretKeyRef.name", SECRETS) for part in ("steps", "sidecars")),
    *((f"{part}.*.env.*.valueFrom.configMapKeyRef.name", CONFIGMAPS) for part in ("steps", "sidecars")),
    *((f"{part}.*.envFrom.*.secretRef.name", SECRETS) for part in ("steps", "sidecars")),
    *((f"{part}.*.envFrom.*.configMapRef.name", CONFIGMAPS) for part in ("steps", "sidecars")),
)
"""What the spec of a task names."""
_INLINE: Final = ("spec.pipelineSpec.tasks.*.taskSpec", "spec.pipelineSpec.finally.*.taskSpec")


class TektonAdapter(DeclaredAdapter):
    """A run; `tasks` are the paths of its inline tasks, `template` that of what all of its pods have in common."""

    def __init__(self, kind: KindDescription, tasks: tuple[str, ...], template: str) -> None:
        super().__init__(kind)
        self._tasks, self._template = tasks, template

    def template_sets(self, whole: dict[str, Any], found: Found = NOTHING_FOUND) -> list[TemplateSet]:
        common = paths.first(self._template, whole)
        common = common if isinstance(common, dict) else {}
        tasks = [*(task for _, task in self._inline(whole)), *_found_tasks(found)]
        pods = [{"spec": {**common, "containers": _containers(task)}} for task in tasks]
        own = paths.first("spec.computeResources", whole)
        if isinstance(own, dict):
            pods = [{"spec": {**common, "containers": [{"name": "task", "resources": own}]}}]
        largest = max(pods or [{"spec": common}], key=lambda pod: sorted(pod_set(pod, 1).requests.items()))
        return [TemplateSet(("spec",), largest, 1)]

    def pod_templates(self, obj: Object) -> list[tuple[FieldPath, Mapping[str, Any]]]:
        return []  # a run has parts of pods only; `references` reads them

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        whole, namespace = paths.decoded(original), original.namespace
        named = [*super().references(original, found), *_refs(whole, namespace)]
        for place, task in self._inline(whole):
            named += _in_task(task, namespace, place)
        for (resource, key), obj in found.items():
            spec = paths.first("spec", paths.decoded(obj))
            if resource == TASKS and key.namespace == namespace:
                named += _in_task(spec, namespace)
            elif resource == PIPELINES and key.namespace == namespace:
                named += [_unplaced(each) for each in _task_refs(spec, namespace, ())]
                named += [each for task in _inline_tasks(spec) for each in _in_task(task, namespace)]
        return tuple(named)

    def _inline(self, whole: Mapping[str, Any]) -> list[tuple[FieldPath, Any]]:
        return [each for path in self._tasks for each in paths.located(paths.parse(path), whole)]


def pipeline_run_adapter(kind: KindDescription) -> TektonAdapter:
    return TektonAdapter(kind, _INLINE, "spec.taskRunTemplate.podTemplate")


def task_run_adapter(kind: KindDescription) -> TektonAdapter:
    return TektonAdapter(kind, ("spec.taskSpec",), "spec.podTemplate")


def _found_tasks(found: Found) -> Iterator[Any]:
    """The specs of the tasks in the objects that a run names."""
    for (resource, _), obj in found.items():
        spec = paths.first("spec", paths.decoded(obj))
        if resource == TASKS:
            yield spec
        elif resource == PIPELINES:
            yield from _inline_tasks(spec)


def _inline_tasks(pipeline: Any) -> list[Any]:
    return [task for part in ("tasks", "finally") for task in paths.values(f"{part}.*.taskSpec", pipeline)]


def _containers(task: Any) -> list[dict[str, Any]]:
    found = [step for part in ("steps", "sidecars") for step in paths.values(f"{part}.*", task)]
    return [{"resources": step.get("computeResources") or {}} for step in found if isinstance(step, dict)]


def _refs(whole: Mapping[str, Any], namespace: str) -> Iterator[Reference]:
    """The Pipeline or Tasks that a run names, unless a resolver fetches them."""
    for field, resource in (("pipelineRef", PIPELINES), ("taskRef", TASKS)):
        yield from _ref(paths.first(f"spec.{field}", whole), resource, namespace, ("spec", field))
    yield from _task_refs(paths.first("spec.pipelineSpec", whole), namespace, ("spec", "pipelineSpec"))


def _task_refs(pipeline: Any, namespace: str, above: FieldPath) -> Iterator[Reference]:
    for part in ("tasks", "finally"):
        for place, ref in paths.located(paths.parse(f"{part}.*.taskRef"), pipeline):
            yield from _ref(ref, TASKS, namespace, (*above, *place))


def _ref(ref: Any, resource: Resource, namespace: str, place: FieldPath) -> Iterator[Reference]:
    if not isinstance(ref, dict) or ref.get("resolver") or ref.get("kind", resource.kind) != resource.kind:
        return
    name = ref.get("name")
    if isinstance(name, str) and name and ref.get("apiVersion", resource.api_version) == resource.api_version:
        yield Reference(resource, name, namespace, paths=((*place, "name"),))


def _in_task(task: Any, namespace: str, above: FieldPath | None = None) -> Iterator[Reference]:
    """What a task's spec names; `above` is where it is in the original, None if it is in another object."""
    for path, resource in _IN_TASK:
        for place, name in paths.located(paths.parse(path), task):
            if isinstance(name, str) and name and "$(" not in name:
                yield Reference(resource, name, namespace, paths=() if above is None else ((*above, *place),))


def _unplaced(reference: Reference) -> Reference:
    return Reference(reference.resource, reference.name, reference.namespace)
