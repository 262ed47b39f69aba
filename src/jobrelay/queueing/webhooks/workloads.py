"""Checks of Workloads beyond their schema: what may be asked for, and what may not change while quota is reserved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, invalid, not_found, not_supported, required
from jobrelay.apimachinery.meta import (
    validate_annotations,
    validate_conditions,
    validate_immutable_field,
    validate_labels,
)
from jobrelay.apimachinery.quantity import QuantityError, canonical, number
from jobrelay.queueing import names
from jobrelay.queueing.core.amounts import amount
from jobrelay.queueing.webhooks.flavors import check_toleration_keys
from jobrelay.queueing.webhooks.gates import check_gates

_PODS: Final = "pods"
_SETS: Final = Path("spec").child("podSets")
_STATUS: Final = Path("status")

Fields = Mapping[str, Any]


def check_workload(new: Fields, old: Fields | None) -> list[FieldError]:
    """The errors of a Workload, new or changed."""
    return [*_check(new, old), *(_check_changes(new, old) if old is not None else ())]


def _check(new: Fields, old: Fields | None) -> Iterator[FieldError]:
    sets, status = _sets(new), _status(new)
    for index, each in enumerate(sets):
        yield from _check_template(each.get("template") or {}, _SETS.index(index).child("template"))
    variable = sum("minCount" in each for each in sets)
    if variable > 1:
        yield invalid(_SETS, variable, "at most one podSet can use minCount")
    if _reserved(new):
        yield from _check_admission(new, old)
    yield from validate_conditions(status.get("conditions") or [], _STATUS.child("conditions"))
    yield from _check_reclaimable(new)
    yield from _check_updates(new)
    yield from check_gates(new, old)


def _check_template(template: Fields, path: Path) -> Iterator[FieldError]:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    yield from validate_labels(metadata.get("labels"), path.child("metadata", "labels"))
    yield from validate_annotations(metadata.get("annotations"), path.child("metadata", "annotations"))
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            where = path.child("spec", field).index(index)
            yield from _check_resources(container.get("resources") or {}, where.child("resources"))
    yield from _check_resources(spec.get("resources") or {}, path.child("spec", "resources"))


def _check_resources(resources: Fields, path: Path) -> Iterator[FieldError]:
    for field in ("requests", "limits"):
        for name, quantity in (resources.get(field) or {}).items():
            where = path.child(field).key(name)
            if name == _PODS:
                yield invalid(where, _PODS, "the key is reserved for internal kueue use")
            if _is_negative(quantity):
                yield invalid(where, canonical(str(quantity)), "must be greater than or equal to 0")


def _is_negative(quantity: Any) -> bool:
    try:
        return number(str(quantity)) < 0
    except QuantityError:
        return False


def _check_admission(new: Fields, old: Fields | None) -> Iterator[FieldError]:
    path, admission = _STATUS.child("admission"), _status(new).get("admission")
    if admission is None:
        if old is None or not _reserved(old) or _status(old).get("admission") is not None:
            yield required(path, "must be set while the QuotaReserved condition is true")
        return
    known = {each.get("name") for each in _sets(new)}
    for index, each in enumerate(admission.get("podSetAssignments") or ()):
        where = path.child("podSetAssignments").index(index)
        if each.get("name") not in known:
            yield not_found(where.child("name"), each.get("name"))
        count = each.get("count") or 0
        for resource, used in (each.get("resourceUsage") or {}).items():
            if count > 0 and amount(resource, str(used)) % count:
                yield invalid(where.child("resourceUsage").key(resource), used, f"is not a multiple of {count}")


def _check_reclaimable(new: Fields) -> Iterator[FieldError]:
    counts = {each.get("name"): each.get("count", 1) for each in _sets(new)}
    for each in _status(new).get("reclaimablePods") or ():
        name, path = each.get("name", ""), _STATUS.child("reclaimablePods").key(each.get("name", ""))
        if name not in counts:
            yield not_supported(path.child("name"), name, [str(one) for one in counts])
        elif each.get("count", 0) > counts[name]:
            yield invalid(path.child("count"), each["count"], f"should be less or equal to {counts[name]}")


def _check_updates(new: Fields) -> Iterator[FieldError]:
    known = sorted(str(each.get("name")) for each in _sets(new))
    for index, check in enumerate(_status(new).get("admissionChecks") or ()):
        for at, each in enumerate(check.get("podSetUpdates") or ()):
            path = _STATUS.child("admissionChecks").index(index).child("podSetUpdates").index(at)
            if each.get("name") not in known:
                yield not_supported(path.child("name"), each.get("name"), known)
            yield from check_toleration_keys(each.get("tolerations") or [], path.child("tolerations"))
            yield from validate_annotations(each.get("annotations"), path.child("annotations"))
            yield from validate_labels(each.get("nodeSelector"), path.child("nodeSelector"))
            yield from validate_labels(each.get("labels"), path.child("labels"))


def _check_changes(new: Fields, old: Fields) -> Iterator[FieldError]:
    if _reserved(old):
        yield from _check_same_sets(_sets(new), _sets(old))
    if _reserved(new) and _reserved(old):
        yield from _check_reclaimed(new, old)
    after, before = _status(new).get("admission"), _status(old).get("admission")
    if after is not None and before is not None:
        yield from validate_immutable_field(_steady(after), _steady(before), _STATUS.child("admission"))
    yield from _check_same_updates(_status(new), _status(old))
    cluster, nominated = _status(new).get("clusterName"), _status(old).get("nominatedClusterNames") or ()
    if cluster and not _status(old).get("clusterName") and cluster not in nominated:
        detail = "when setting clusterName it must be one of the nominatedClusterNames"
        yield invalid(_STATUS.child("clusterName"), cluster, detail)


def _check_same_sets(new: Sequence[Fields], old: Sequence[Fields]) -> Iterator[FieldError]:
    if len(new) != len(old):
        yield from validate_immutable_field(list(new), list(old), _SETS)
        return
    for index, (after, before) in enumerate(zip(new, old, strict=True)):
        smaller = after.get("count", 1) < before.get("count", 1)
        kept = {**after, "count": before.get("count", 1)} if smaller else after
        yield from validate_immutable_field(kept, before, _SETS.child(str(index)))


def _check_reclaimed(new: Fields, old: Fields) -> Iterator[FieldError]:
    """Pods that have been given back stay so."""
    after = {each.get("name", ""): each.get("count", 0) for each in _status(new).get("reclaimablePods") or ()}
    before = {each.get("name", ""): each.get("count", 0) for each in _status(old).get("reclaimablePods") or ()}
    path = _STATUS.child("reclaimablePods")
    for name, count in after.items():
        if count < before.get(name, 0):
            yield invalid(path.key(name).child("count"), count, f"cannot be less than {before[name]}")
    for name in before.keys() - after.keys():
        yield required(path.key(name), "cannot be removed")


def _check_same_updates(new: Fields, old: Fields) -> Iterator[FieldError]:
    """What a check wants to be changed is settled when it is ready."""
    after = {each.get("name"): each for each in new.get("admissionChecks") or ()}
    for index, each in enumerate(old.get("admissionChecks") or ()):
        now = after.get(each.get("name"))
        if now is not None and each.get("state") == now.get("state") == "Ready":
            path = _STATUS.child("admissionChecks").index(index).child("podSetUpdates")
            yield from validate_immutable_field(now.get("podSetUpdates"), each.get("podSetUpdates"), path)


def _steady(admission: Fields) -> dict[str, Any]:
    """An admission without what may change in it: where its pods are placed."""
    moving = ("topologyAssignment", "delayedTopologyRequest")
    sets = [
        {name: value for name, value in each.items() if name not in moving}
        for each in admission.get("podSetAssignments") or ()
    ]
    return {**admission, "podSetAssignments": sets}


def _sets(workload: Fields) -> Sequence[Fields]:
    return (workload.get("spec") or {}).get("podSets") or ()


def _status(workload: Fields) -> Fields:
    return workload.get("status") or {}


def _reserved(workload: Fields) -> bool:
    conditions = _status(workload).get("conditions") or ()
    return any(each.get("type") == names.QUOTA_RESERVED and each.get("status") == "True" for each in conditions)
