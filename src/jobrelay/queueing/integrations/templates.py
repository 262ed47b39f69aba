"""The pod templates of a queued object: changed when it starts, restored when it is stopped.

The label `kueue.x-k8s.io/podset` marks a template that was changed. What it was before is in the Workload, whose pod
sets are never changed while it holds quota. Templates that a kind's own controller makes up are not in the object, and
stay as they are.

API servers accept such changes of a Job only while it is suspended and has no start time; webhooks of other kinds are
alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jobrelay.kube import Object
from jobrelay.kube.resource import JOBS
from jobrelay.queueing import names
from jobrelay.queueing.integrations.injecting import Injection, merge
from jobrelay.queueing.integrations.podsets import named_templates, pods_at_once, template_at
from jobrelay.queueing.integrations.suspending import suspension_patch
from jobrelay.queueing.views import PodSetView
from jobrelay.workloads import Adapter, status_patch


def is_injected(adapter: Adapter, obj: Object) -> bool:
    """Whether the pod templates of an object were changed when it was started."""
    return any(_is_marked(template) for _, template in _templates(adapter, obj, obj.decode()))


def lacks(adapter: Adapter, obj: Object, wanted: Iterable[Injection]) -> bool:
    """Whether an object cannot run with its templates and numbers of pods as they are."""
    whole, by_name = obj.decode(), {each.pod_set: each for each in wanted}
    fewer = any(each.count < pods_at_once(obj) for each in by_name.values()) if adapter.resource == JOBS else False
    return fewer or any(
        name in by_name and by_name[name].restricts and not _is_marked(template)
        for name, template in _templates(adapter, obj, whole)
    )


def start_patch(adapter: Adapter, obj: Object, wanted: Iterable[Injection]) -> dict[str, Any]:
    """A merge patch that lets an object run with what its pods get; raises Clash."""
    before, after, by_name = obj.decode(), obj.decode(), {each.pod_set: each for each in wanted}
    for name, template in _templates(adapter, obj, after):
        if name in by_name:
            _inject(template, by_name[name])
    if adapter.resource == JOBS and any(each.count < pods_at_once(obj) for each in by_name.values()):
        _set_count(obj, after, min(each.count for each in by_name.values()))
    return _combined(status_patch(before, after), suspension_patch(adapter, suspend=False) or {})


def restore_patch(
    adapter: Adapter, obj: Object, pod_sets: Iterable[PodSetView], *, counts: bool = True
) -> dict[str, Any] | None:
    """A merge patch that gives a stopped object the templates that it was queued with; None if it has them.

    `counts` says whether a Job gets back its number of pods, too.
    """
    if not is_injected(adapter, obj):
        return None
    before, after, queued = obj.decode(), obj.decode(), {each.name: each for each in pod_sets}
    for name, template in _templates(adapter, obj, after):
        if name in queued:
            _restore(template, queued[name].template)
    for each in queued.values() if counts and adapter.resource == JOBS else ():
        if pods_at_once(obj) < each.count:
            _set_count(obj, after, each.count)
    return status_patch(before, after)


def _templates(adapter: Adapter, obj: Object, whole: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pod sets whose templates are in a decoded object, and these."""
    for name, place in named_templates(adapter, obj):
        template = template_at(whole, place)
        if template is not None:
            yield name, template


def _is_marked(template: Mapping[str, Any]) -> bool:
    return names.POD_SET in ((template.get("metadata") or {}).get("labels") or {})


def _inject(template: dict[str, Any], injection: Injection) -> None:
    pod, metadata = template["spec"], template.get("metadata") or {}
    template["metadata"] = metadata
    if injection.node_selector:
        selector = dict(pod.get("nodeSelector") or {})
        merge(selector, injection.node_selector, "nodeSelector")
        pod["nodeSelector"] = selector
    if injection.tolerations:
        given = list(pod.get("tolerations") or ())
        pod["tolerations"] = [*given, *(dict(each) for each in injection.tolerations if each not in given)]
    labels = {**injection.labels, **injection.queues, names.POD_SET: injection.pod_set}
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    if injection.annotations:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **injection.annotations}


def _restore(template: dict[str, Any], queued: Mapping[str, Any]) -> None:
    pod, old = template["spec"], queued.get("spec") or {}
    for field in ("nodeSelector", "tolerations"):
        pod[field] = old.get(field)
    metadata = template.get("metadata") or {}
    for part in ("labels", "annotations"):
        was, has = (queued.get("metadata") or {}).get(part) or {}, metadata.get(part) or {}
        if has:
            metadata[part] = {key: value for key, value in has.items() if key in was or _is_generated(key)}


def _is_generated(label: str) -> bool:
    """Whether the API server has put a label on the pods of every Job."""
    return label in ("controller-uid", "job-name") or label.startswith("batch.kubernetes.io/")


def _set_count(job: Object, whole: dict[str, Any], count: int) -> None:
    """Set the parallelism of a Job."""
    whole["spec"]["parallelism"] = count
    if job.metadata.annotations.get(names.COMPLETIONS_EQUAL_PARALLELISM) == "true":
        whole["spec"]["completions"] = count


def _combined(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(one)
    for key, value in other.items():
        under = both.get(key)
        both[key] = _combined(under, value) if isinstance(under, dict) and isinstance(value, Mapping) else value
    return both
