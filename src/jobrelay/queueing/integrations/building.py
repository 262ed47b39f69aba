"""The Workload of a queued object: its name and its contents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import sha1
from typing import Any, Final

import msgspec

from jobrelay.kube import Object, Resource
from jobrelay.queueing import names
from jobrelay.queueing.priorities import Priority
from jobrelay.queueing.resources import WORKLOADS

_LONGEST: Final = 253
_HASH: Final = 5


def workload_name(kind: str, group: str, name: str, uid: str) -> str:
    """The name that Kueue gives to the Workload of an object."""
    head = f"{kind.lower()}-{name}"[: _LONGEST - _HASH - 1]
    digest = sha1(f"{kind}\n{group}\n{name}\n{uid}".encode(), usedforsecurity=False).hexdigest()
    return f"{head}-{digest[:_HASH]}"


def make_workload(
    resource: Resource,
    obj: Object,
    queue: str,
    pod_sets: list[dict[str, Any]],
    priority: Priority,
    copied: Collection[str] = (),
) -> dict[str, Any]:
    """The Workload to create for an object, with those of its labels that are to be `copied`."""
    spec: dict[str, Any] = {"active": True, "podSets": pod_sets, "priority": priority.value}
    if queue:
        spec["queueName"] = queue
    if priority.ref is not None:
        spec["priorityClassRef"] = msgspec.to_builtins(priority.ref)
    seconds = obj.metadata.labels.get(names.MAX_EXEC_TIME, "")
    if seconds.isdecimal() and int(seconds) > 0:
        spec["maximumExecutionTimeSeconds"] = int(seconds)
    own = {names.JOB_UID: obj.uid}
    owner = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": obj.name,
        "uid": obj.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    gates = obj.metadata.annotations.get(names.ADMISSION_GATED_BY)
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": workload_name(resource.kind, resource.group, obj.name, obj.uid),
            "namespace": obj.namespace,
            "labels": {**{key: obj.metadata.labels[key] for key in copied if key in obj.metadata.labels}, **own},
            "ownerReferences": [owner],
            **({"annotations": {names.ADMISSION_GATED_BY: gates}} if gates else {}),
        },
        "spec": spec,
    }


def same_pods(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two pod sets ask for the same pods; where these may run is not compared, since starting changes it."""
    if (one.get("name"), one.get("count")) != (other.get("name"), other.get("count")):
        return False
    left, right = (each.get("template", {}).get("spec") or {} for each in (one, other))
    return all(left.get(key) == right.get(key) for key in ("containers", "initContainers"))
