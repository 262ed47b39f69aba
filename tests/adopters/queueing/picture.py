"""What a script's objects show after a step, as facts: names of facts with their values.

A fact is a short text, and what must differ between runs is not in it: times, uids, hashes in names. Messages are
facts of their own, because some of them depend on how fast a scheduler was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from jobrelay.kube import Resource
from jobrelay.kube.resource import JOBS
from jobrelay.relay.multikueue.claims import MARK
from jobrelay.workloads.names import KUEUE_ORIGIN, MULTIKUEUE

from .objects import (
    CHECKS,
    CLUSTERQUEUES,
    COHORTS,
    GROUP,
    LOCALQUEUES,
    MULTIKUEUE_CLUSTERS,
    WORKLOADS,
    Names,
    Obj,
    job_of,
)

Facts = dict[str, Any]
_PREBUILT: Final = f"{GROUP}/prebuilt-workload-name"
APART: Final = 0.3
"""Seconds; what is written at about the same time has no order, since writes overtake each other."""


class Reservation(NamedTuple):
    """A Workload has got quota: when, in which ClusterQueue, and its uid."""

    when: float
    queue: str
    uid: str


_DUMP: Final = re.compile(r"\{\".*\}: ")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( \+0000 UTC|Z)?( m=[+-][\d.]+)?")


class Objects(Protocol):
    """Whoever knows a script's objects."""

    def objects(self, resource: Resource, slug: str) -> list[Obj]: ...


def picture(stage: Objects, names: Names, error: Obj | None = None, reserved: Sequence[Reservation] = ()) -> Facts:
    """All facts about a script's objects."""
    workloads = stage.objects(WORKLOADS, names.slug)
    jobs = stage.objects(JOBS, names.slug)
    neutral = _Neutral(names, [*workloads, *jobs])
    facts: Facts = {"error": _error(error)} if error is not None else {}
    for each in workloads:
        facts |= _prefixed(f"workload {neutral.called(each)}", _workload(each))
    for each in jobs:
        facts |= _prefixed(f"job {neutral.called(each)}", _job(each))
    for each in stage.objects(CLUSTERQUEUES, names.slug):
        facts |= _prefixed(f"queue {neutral.called(each)}", _queue(each))
    for each in stage.objects(LOCALQUEUES, names.slug):
        facts |= _prefixed(f"local {neutral.called(each)}", _queue(each))
    for each in stage.objects(COHORTS, names.slug):
        facts |= _prefixed(f"cohort {neutral.called(each)}", dict(_share(each.get("status", {}))))
    for each in stage.objects(CHECKS, names.slug):
        if each["spec"]["controllerName"] == MULTIKUEUE:
            facts |= _prefixed(f"check {neutral.called(each)}", dict(_conditions(each)))
    for each in stage.objects(MULTIKUEUE_CLUSTERS, names.slug):
        facts |= _prefixed(f"cluster {neutral.called(each)}", _active(each))
    facts |= _order(reserved, neutral)
    return {neutral.text(key): neutral.text(value) for key, value in sorted(facts.items())}


def _error(error: Obj) -> str:
    return f"{error['code']} {_DUMP.sub('{...}: ', error['message'])}"


def _prefixed(prefix: str, facts: Facts) -> Facts:
    return {f"{prefix}: {name}": value for name, value in facts.items() if value not in (None, "")}


def _active(cluster: Obj) -> Facts:
    """Whether a worker can be used; the message is that of the library which has read its kubeconfig."""
    return {name: value for name, value in _conditions(cluster) if name == "Active"}


def _conditions(obj: Obj) -> Iterator[tuple[str, str]]:
    for one in obj.get("status", {}).get("conditions", ()):
        yield one["type"], f"{one['status']} {one.get('reason', '')}".strip()
        if one.get("message"):
            yield f"{one['type']} message", one["message"].removesuffix(f"; {MARK}")


def _workload(obj: Obj) -> Facts:
    spec, status = obj["spec"], obj.get("status", {})
    admission = status.get("admission")
    facts: Facts = dict(_conditions(obj))
    facts["spec"] = _joined(
        f"queue {spec.get('queueName', '-')}",
        "" if spec.get("active", True) else "inactive",
        f"priority {spec.get('priority', '-')}",
        " ".join(_pod_set(each) for each in spec["podSets"]),
        f"for {spec['maximumExecutionTimeSeconds']} s" if "maximumExecutionTimeSeconds" in spec else "",
    )
    facts["class"] = (spec.get("priorityClassRef") or {}).get("name")
    facts["admission"] = _admission(admission) if admission else None
    for check in status.get("admissionChecks", ()):
        facts[f"check {check['name']}"] = _joined(check["state"], check.get("message", ""))
    facts["reclaimable"] = _pairs((each["name"], each["count"]) for each in status.get("reclaimablePods", ()))
    facts["requeues"] = (status.get("requeueState") or {}).get("count")
    facts["deleting"] = "yes" if "deletionTimestamp" in obj["metadata"] else None
    facts["cluster"] = status.get("clusterName")
    facts["nominated"] = " ".join(status.get("nominatedClusterNames", ()))
    facts["origin"] = obj["metadata"].get("labels", {}).get(KUEUE_ORIGIN)
    return facts


def _pod_set(one: Obj) -> str:
    count = f"{one.get('count', 1)}" + (f" (at least {one['minCount']})" if "minCount" in one else "")
    containers = one["template"]["spec"]["containers"]
    requests = [_pairs(sorted(each.get("resources", {}).get("requests", {}).items())) or "-" for each in containers]
    return f"{one['name']} {count} x {' + '.join(requests)}"


def _admission(admission: Obj) -> str:
    sets = []
    for one in admission.get("podSetAssignments", ()):
        usage, flavors = one.get("resourceUsage", {}), one.get("flavors", {})
        used = " ".join(f"{name}={usage.get(name)}@{flavors.get(name, '-')}" for name in sorted({*usage, *flavors}))
        sets.append(f"{one['name']} {one.get('count')} x {used or '-'}")
    return f"{admission['clusterQueue']}: {', '.join(sets)}"


def _job(obj: Obj) -> Facts:
    spec = obj["spec"]
    pod = spec["template"]["spec"]
    facts: Facts = {name: value for name, value in _conditions(obj) if not name.endswith(" message")}
    facts["state"] = _joined(
        "suspended" if spec.get("suspend") else "running", f"{spec.get('parallelism')} of {spec.get('completions')}"
    )
    facts["node selector"] = _pairs(sorted(pod.get("nodeSelector", {}).items()))
    facts["tolerations"] = ", ".join(_toleration(each) for each in pod.get("tolerations", ())) or None
    labels = spec["template"].get("metadata", {}).get("labels", {})
    facts["labels"] = _pairs(
        (k, v) for k, v in sorted(labels.items()) if "controller-uid" not in k and "job-name" not in k
    )
    return facts | _delegated(obj)


def _delegated(obj: Obj) -> Facts:
    """What a Job shows that another cluster runs, or that runs here for another cluster."""
    metadata, by = obj["metadata"], obj["spec"].get("managedBy")
    marks = metadata.get("labels", {}) | metadata.get("annotations", {})
    origin = marks.get(KUEUE_ORIGIN)
    status = obj.get("status", {}) if by or origin else {}
    counts = [(name, status[name]) for name in ("active", "ready", "succeeded", "failed") if status.get(name)]
    return {"managed by": by, "origin": origin, "prebuilt": marks.get(_PREBUILT), "pods": _pairs(counts)}


def _toleration(one: Obj) -> str:
    return _pairs(sorted(one.items())) or "all"


def _queue(obj: Obj) -> Facts:
    status = obj.get("status", {})
    counts = [(each, status.get(f"{each}Workloads", 0)) for each in ("pending", "reserving", "admitted")]
    facts: Facts = dict(_conditions(obj)) | dict(_share(status))
    facts["workloads"] = " ".join(f"{name} {count}" for name, count in counts)
    facts["reservation"] = _usage(status.get("flavorsReservation", ()))
    facts["usage"] = _usage(status.get("flavorsUsage", ()))
    facts["deleting"] = "yes" if "deletionTimestamp" in obj["metadata"] else None
    return facts


def _share(status: Obj) -> Iterator[tuple[str, Any]]:
    if "weightedShare" in (status.get("fairSharing") or {}):
        yield "share", str(status["fairSharing"]["weightedShare"])


def _usage(flavors: Iterable[Obj]) -> str | None:
    """What is not zero."""
    used = [
        f"{each['name']} {one['name']} {one['total']}"
        + ("" if _none(one.get("borrowed")) else f" borrowed {one['borrowed']}")
        for each in flavors
        for one in each["resources"]
        if not _none(one.get("total"))
    ]
    return ", ".join(used) or None


def _none(quantity: Any) -> bool:
    return str(quantity) in ("0", "None")


def _order(reserved: Sequence[Reservation], neutral: _Neutral) -> Facts:
    """The order of reservations for each ClusterQueue in which there were several; those of one time with a `+`."""
    found: dict[str, list[list[str]]] = {}
    last: dict[str, float] = {}
    for each in reserved:
        groups = found.setdefault(each.queue, [])
        if not groups or each.when - last[each.queue] > APART:
            groups.append([])
        groups[-1].append(neutral.known.get(each.uid, "another"))
        last[each.queue] = each.when
    texts = {queue: " ".join("+".join(sorted(group)) for group in groups) for queue, groups in found.items()}
    return {f"order {queue}": text for queue, text in texts.items() if " " in text or "+" in text}


def _pairs(pairs: Iterable[tuple[Any, Any]]) -> str:
    return " ".join(f"{name}={value}" for name, value in pairs)


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


class _Neutral:
    """Texts without what differs between runs: uids become the names of what they belong to."""

    def __init__(self, names: Names, objects: Iterable[Obj]) -> None:
        self._names = names
        self.known = {each["metadata"]["uid"]: self.called(each) for each in objects}
        self._hashed = {
            each["metadata"]["name"]: f"job-{self.called(each)}"
            for each in objects
            if job_of(each) != each["metadata"]["name"]
        }

    def called(self, obj: Obj) -> str:
        """The name of a Job for its Workload too; a namespace other than the script's own in front."""
        metadata = obj["metadata"]
        name = self._names.plain(job_of(obj))
        place = self._names.plain(metadata.get("namespace", "NS"))
        return name if place == "NS" else f"{place}/{name}"

    def text(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        for hashed, plain in self._hashed.items():
            value = value.replace(hashed, plain)
        value = _UID.sub(lambda found: self.known.get(found[0], "UID"), self._names.plain(value))
        return _TIME.sub("TIME", value)
