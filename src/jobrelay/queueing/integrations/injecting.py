"""What the pods of a Job get when it starts, and how that is taken away when it is stopped.

The flavors that a pod set got stand for nodes: their labels become its node selector, their tolerations its own. What
admission checks ask for comes on top. Labels tell the pod set and its queues; they alone are no reason to suspend a Job
that runs. The label `kueue.x-k8s.io/podset` marks a template that was changed. What it was before is in the Workload,
whose pod sets are never changed while it holds quota.

API servers accept these changes only for a suspended Job that has no start time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from jobrelay.kube import Object
from jobrelay.queueing import core, names
from jobrelay.queueing.views import AssignmentView, PodSetUpdate, WorkloadView

_LONGEST_LABEL: Final = 63


class Injection(msgspec.Struct, frozen=True):
    """What is added to the pods of one pod set."""

    pod_set: str
    count: int
    node_selector: dict[str, str] = {}
    tolerations: tuple[Mapping[str, Any], ...] = ()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    queues: dict[str, str] = {}
    """The labels that name its queues."""

    def changes(self, job: Object) -> bool:
        """Whether a Job has to be changed to run with it."""
        added = self.node_selector or self.tolerations or self.labels or self.annotations
        return bool(added) or self.count < pods_at_once(job)


class Clash(Exception):
    """Two sources want different values for one key."""


def injections(view: WorkloadView, flavors: Mapping[str, core.FlavorSpec]) -> list[Injection]:
    """What each admitted pod set gets; raises Clash."""
    assert view.status.admission is not None
    updates = [each for check in view.status.admission_checks for each in check.pod_set_updates]
    counts = {each.name: each.count for each in view.spec.pod_sets}
    queues = _queues(view.status.admission.cluster_queue, view.spec.queue_name)
    return [
        _injection(each, counts.get(each.name, 1), flavors, [one for one in updates if one.name == each.name], queues)
        for each in view.status.admission.pod_set_assignments
    ]


def _queues(cluster_queue: str, local_queue: str) -> dict[str, str]:
    """Labels for names that labels can have."""
    both = {names.CLUSTER_QUEUE_LABEL: cluster_queue, names.LOCAL_QUEUE_LABEL: local_queue}
    return {label: name for label, name in both.items() if len(name) <= _LONGEST_LABEL}


def _injection(
    to: AssignmentView,
    count: int,
    flavors: Mapping[str, core.FlavorSpec],
    updates: Iterable[PodSetUpdate],
    queues: dict[str, str],
) -> Injection:
    selector: dict[str, str] = {}
    tolerations: list[Mapping[str, Any]] = []
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    for name in dict.fromkeys(to.flavors.values()):
        flavor = flavors.get(name)
        if flavor is not None:
            _merge(selector, flavor.node_labels, "nodeSelector")
            tolerations += [each for each in flavor.tolerations if each not in tolerations]
    for update in updates:
        _merge(selector, update.node_selector, "nodeSelector")
        _merge(labels, update.labels, "labels")
        _merge(annotations, update.annotations, "annotations")
        tolerations += [each for each in update.tolerations if each not in tolerations]
    admitted = to.count if to.count is not None else count
    return Injection(to.name, admitted, selector, tuple(tolerations), labels, annotations, queues)


def _merge(into: dict[str, str], more: Mapping[str, str], where: str) -> None:
    for key, value in more.items():
        if into.setdefault(key, value) != value:
            raise Clash(f"conflict for {where}: {key} is {into[key]} and {value}")


def is_injected(job: Object) -> bool:
    """Whether the pod template of a Job was changed when it was started."""
    metadata = job.decode()["spec"]["template"].get("metadata") or {}
    return names.POD_SET in (metadata.get("labels") or {})


def start_patch(job: Object, injection: Injection) -> dict[str, Any]:
    """A merge patch that starts a suspended Job with what its pods get; raises Clash."""
    pod = job.decode()["spec"]["template"]["spec"]
    selector = dict(pod.get("nodeSelector") or {})
    _merge(selector, injection.node_selector, "nodeSelector")
    change: dict[str, Any] = {"suspend": False, "template": _template(pod, injection, selector)}
    if injection.count < pods_at_once(job):
        change |= _counts(job, injection.count)
    return {"spec": change}


def pods_at_once(job: Object) -> int:
    """How many pods of a Job run at the same time."""
    spec = job.decode()["spec"]
    completions, parallelism = spec.get("completions"), spec.get("parallelism", 1)
    count: int = parallelism if completions is None else min(parallelism, completions)
    return count


def _counts(job: Object, count: int) -> dict[str, int]:
    """The fields of a Job that has so many pods at the same time."""
    both = job.metadata.annotations.get(names.COMPLETIONS_EQUAL_PARALLELISM) == "true"
    return {"parallelism": count, **({"completions": count} if both else {})}


def _template(pod: Mapping[str, Any], injection: Injection, selector: Mapping[str, str]) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    if injection.node_selector:
        inner["nodeSelector"] = dict(selector)
    if injection.tolerations:
        given = list(pod.get("tolerations") or ())
        inner["tolerations"] = [*given, *(dict(each) for each in injection.tolerations if each not in given)]
    metadata: dict[str, Any] = {"labels": {**injection.labels, **injection.queues, names.POD_SET: injection.pod_set}}
    if injection.annotations:
        metadata["annotations"] = injection.annotations
    return {"metadata": metadata, **({"spec": inner} if inner else {})}


def restore_patch(job: Object, view: WorkloadView) -> dict[str, Any] | None:
    """A merge patch that gives a stopped Job the template that it was queued with; None if it has that."""
    if not is_injected(job):
        return None
    before = view.spec.pod_sets[0]
    change: dict[str, Any] = {"template": _restored(job.decode()["spec"]["template"], before.template)}
    if pods_at_once(job) < before.count:
        change |= _counts(job, before.count)
    return {"spec": change}


def _restored(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    old, pod = before.get("spec") or {}, now["spec"]
    selector = old.get("nodeSelector") or {}
    gone = dict.fromkeys(key for key in pod.get("nodeSelector") or {} if key not in selector)
    metadata: dict[str, Any] = {}
    for part in ("labels", "annotations"):
        was, has = (before.get("metadata") or {}).get(part) or {}, (now.get("metadata") or {}).get(part) or {}
        added = [key for key in has if key not in was and not _generated(key)]
        if added:
            metadata[part] = dict.fromkeys(added)
    return {
        "metadata": metadata,
        "spec": {"nodeSelector": {**selector, **gone} or None, "tolerations": old.get("tolerations")},
    }


def _generated(label: str) -> bool:
    """Whether the API server has put a label on the pods of every Job."""
    return label in ("controller-uid", "job-name") or label.startswith("batch.kubernetes.io/")
