"""The pod sets of a queued object, as its Workload has them.

A Job's only pod set has its whole pod template. Of other kinds the templates may be made by their own controllers, with
containers that the object does not have; what an adapter counts as their demand is what quota is kept for, so the
template of each pod set is one container that requests just that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, runtime_checkable

from jobrelay.kube import Object
from jobrelay.kube.resource import JOBS
from jobrelay.queueing import names
from jobrelay.queueing.core.amounts import format_amount
from jobrelay.workloads import Adapter, FieldPath, PodSet
from jobrelay.workloads.adapter import NOTHING_FOUND, Found
from jobrelay.workloads.declared.demand import TemplateSet
from jobrelay.workloads.dependencies import Known, demand_of

MAIN: Final = "main"
_LONGEST: Final = 63


@runtime_checkable
class TemplateSets(Protocol):
    """An adapter that knows where the templates of an object's pods are."""

    def template_sets(self, whole: dict[str, Any], found: Found = NOTHING_FOUND) -> list[TemplateSet]: ...


def pod_sets(adapter: Adapter, obj: Object, known: Known | None = None) -> list[dict[str, Any]]:
    """`spec.podSets` of the Workload of an object, also by the `known` objects that describe its pods."""
    if adapter.resource == JOBS:
        return [_job(obj)]
    sets = demand_of(adapter, obj, known).pod_sets
    named, whole = named_templates(adapter, obj), obj.decode()
    if len(named) == len(sets):
        return [
            _pod_set(name, each, template_at(whole, place)) for (name, place), each in zip(named, sets, strict=True)
        ]
    return [_pod_set(f"set-{index}", each) for index, each in enumerate(sets)]


def _pod_set(name: str, pods: PodSet, own: Mapping[str, Any] | None = None) -> dict[str, Any]:
    metadata = _user_metadata((own or {}).get("metadata") or {})
    return {"name": name, "count": pods.count, "template": {"metadata": metadata, **_template(pods)}}


def named_templates(adapter: Adapter, obj: Object) -> list[tuple[str, FieldPath]]:
    """The names of the pod sets that have a template of their own, and where these are; none if names would clash."""
    if adapter.resource == JOBS:
        return [(MAIN, ("spec", "template"))]
    if not isinstance(adapter, TemplateSets):
        return []
    whole = obj.decode()
    named = [(_name(whole, each.place), each.place) for each in adapter.template_sets(whole)]
    return named if len(dict(named)) == len(named) else []


def template_at(whole: Any, place: FieldPath) -> dict[str, Any] | None:
    """The pod template in a decoded object; None if it has none there, since the kind's controller makes it up."""
    for part in place:
        whole = _entry(whole, part)
    return whole if isinstance(whole, dict) and isinstance(whole.get("spec"), dict) else None


def pods_at_once(job: Object) -> int:
    """How many pods of a Job run at the same time."""
    spec = job.decode()["spec"]
    completions, parallelism = spec.get("completions"), spec.get("parallelism", 1)
    count: int = parallelism if completions is None else min(parallelism, completions)
    return count


def _job(obj: Object) -> dict[str, Any]:
    spec, count = obj.decode()["spec"], pods_at_once(obj)
    template = {"metadata": _user_metadata(spec["template"].get("metadata") or {}), "spec": spec["template"]["spec"]}
    made = {"name": MAIN, "count": count, "template": template}
    least = obj.metadata.annotations.get(names.MIN_PARALLELISM, "")
    return {**made, "minCount": int(least)} if least.isdecimal() and 0 < int(least) < count else made


_GENERATED: Final = frozenset(
    {"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name", names.POD_SET}
)


def _user_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in _GENERATED}
    annotations = metadata.get("annotations") or {}
    return {key: value for key, value in (("labels", labels), ("annotations", annotations)) if value}


def _template(pods: PodSet) -> dict[str, Any]:
    requests = {
        resource: format_amount(
            resource, -(-amount.numerator * (1000 if resource == "cpu" else 1) // amount.denominator)
        )
        for resource, amount in pods.requests.items()
    }
    container = {"name": "pod", "image": "any", "resources": {"requests": requests}}
    spec: dict[str, Any] = {"containers": [container]}
    if pods.node_selector:
        spec["nodeSelector"] = dict(pods.node_selector)
    if pods.tolerations:
        spec["tolerations"] = [dict(each) for each in pods.tolerations]
    if pods.affinity:
        spec["affinity"] = {"nodeAffinity": dict(pods.affinity)}
    return {"spec": spec}


def _name(whole: Mapping[str, Any], path: FieldPath) -> str:
    """The name of the pods of a template by where it is: the name of the entry of a list, or the key of a role."""
    at: Any = whole
    found, before = "", ""
    for part in path:
        at = _entry(at, part)
        if isinstance(part, int) and isinstance(at, dict):
            found = str(at.get("name") or at.get("groupName") or part)
        elif isinstance(part, str) and before.endswith("ReplicaSpecs"):
            found = part
        elif part == "headGroupSpec":
            found = "head"
        elif part == "submitterPodTemplate":
            found = "submitter"
        before = str(part)
    return found.lower()[:_LONGEST] or MAIN


def _entry(value: Any, part: str | int) -> Any:
    """A field or an entry; None if there is none, since a template may be one that the kind's controller makes up."""
    if isinstance(value, dict):
        return value.get(part)
    return value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else None
