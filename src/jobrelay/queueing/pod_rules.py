"""What pods that are made of a pod set will request, and whether they would be refused.

The API server gives a pod the overhead of its RuntimeClass and the defaults of its namespace's LimitRanges, and refuses
it if it is outside of their bounds. Quota is kept for what the pods will have, so the same is done to a pod set before
it is decided on. One whose pods would be refused waits, with the reason in its status.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.field import FieldError, Path, aggregate, invalid
from jobrelay.queueing.core.amounts import UNLIMITED, amount
from jobrelay.queueing.views import LimitRangeView, LimitsView
from jobrelay.workloads.requests import pod_requests

Pod = Mapping[str, Any]
Texts = Mapping[str, str]
"""Quantities by resource."""
_Place = tuple[str, int | None]
"""A field of a pod's spec, and the index in it; empty for the pod itself."""

_CONTAINERS: Final = ("initContainers", "containers")
_ABOVE_LIMIT: Final = "requests must not exceed its limits"
_ABOVE_MAX: Final = "requests must not be above the limitRange max"
_BELOW_MIN: Final = "requests must not be below the limitRange min"


class PodRules(NamedTuple):
    """What is done to the pods of one namespace."""

    limits: Mapping[str, LimitsView] = {}
    """Of all its LimitRanges together, by what they are for: `Container`, `Pod`."""
    overhead: Callable[[str], Texts] = lambda _: {}
    """What each pod of a RuntimeClass needs besides its containers."""


def together(ranges: Iterable[LimitRangeView]) -> dict[str, LimitsView]:
    """Several LimitRanges as one: the narrowest bounds, and the first default that there is."""
    found: dict[str, LimitsView] = {}
    for each in (limits for one in ranges for limits in one.spec.limits):
        before = found.get(each.type, LimitsView(each.type))
        found[each.type] = LimitsView(
            each.type,
            _merged(min, before.max, each.max),
            _merged(max, before.min, each.min),
            {**each.default, **before.default},
            {**each.default_request, **before.default_request},
        )
    return found


def filled(pod: Pod, rules: PodRules) -> Pod:
    """The pod that the API server would make of a template's spec, as far as its requests are concerned."""
    name = pod.get("runtimeClassName")
    if name and not pod.get("overhead") and (overhead := rules.overhead(name)):
        pod = {**pod, "overhead": overhead}
    if (limits := rules.limits.get("Container")) is not None:
        pod = {**pod, **{part: [_defaulted(each, limits) for each in pod.get(part) or ()] for part in _CONTAINERS}}
    if (limits := rules.limits.get("Pod")) is not None and pod.get("resources"):
        pod = _defaulted(pod, limits)
    return pod


def _defaulted(part: Pod, limits: LimitsView) -> Pod:
    """A container, or a pod, with the resources that it does not name itself."""
    given, asked = _resources(part)
    return {
        **part,
        "resources": {"limits": {**limits.default, **given}, "requests": {**limits.default_request, **asked}},
    }


def refusal(pods: Sequence[Pod], rules: PodRules) -> str:
    """Why the filled pods of a Workload's pod sets would be refused, in Kueue's words; empty if they would not."""
    if errors := [_error(number, each) for number, pod in enumerate(pods) for each in _beyond_own_limits(pod)]:
        return f"resources validation failed: {aggregate(errors)}"
    if errors := [_error(number, each) for number, pod in enumerate(pods) for each in _outside(pod, rules)]:
        return f"resources didn't satisfy LimitRange constraints: {aggregate(errors)}"
    return ""


class _Complaint(NamedTuple):
    place: _Place
    names: list[str]
    detail: str


def _error(pod_set: int, complaint: _Complaint) -> FieldError:
    at = Path().child("spec").child("podSets").index(pod_set).child("template").child("spec")
    part, index = complaint.place
    at = at.child(part) if part else at
    return invalid(at if index is None else at.index(index), complaint.names, complaint.detail)


def _beyond_own_limits(pod: Pod) -> Iterator[_Complaint]:
    for part, place in (*_containers(pod), (pod, ("resources", None))):
        limits, requests = _resources(part)
        if limits and requests and (names := _greater(_amounts(requests), _amounts(limits))):
            yield _Complaint(place, names, _ABOVE_LIMIT)


def _outside(pod: Pod, rules: PodRules) -> Iterator[_Complaint]:
    """What of a pod is not within the bounds of its namespace."""
    if (limits := rules.limits.get("Container")) is not None:
        for container, place in _containers(pod):
            least, most = (_merged(choose, *_resources(container)) for choose in (min, max))
            yield from _bounded(_amounts(least), _amounts(most), limits, place)
    if (limits := rules.limits.get("Pod")) is not None:
        exact = pod_requests(pod).items()
        total = {name: min(UNLIMITED, math.ceil(each * 1000 if name == "cpu" else each)) for name, each in exact}
        yield from _bounded(total, total, limits, ("", None))


def _bounded(
    least: Mapping[str, int], most: Mapping[str, int], limits: LimitsView, place: _Place
) -> Iterator[_Complaint]:
    if names := _greater(most, _amounts(limits.max)):
        yield _Complaint(place, names, _ABOVE_MAX)
    if names := _greater(_amounts(limits.min), least):
        yield _Complaint(place, names, _BELOW_MIN)


def _containers(pod: Pod) -> Iterator[tuple[Pod, _Place]]:
    for part in _CONTAINERS:
        for index, container in enumerate(pod.get(part) or ()):
            yield container, (part, index)


def _resources(part: Pod) -> tuple[Texts, Texts]:
    """The limits and the requests of a container or a pod."""
    resources = part.get("resources") or {}
    return resources.get("limits") or {}, resources.get("requests") or {}


def _amounts(texts: Texts) -> dict[str, int]:
    return {name: amount(name, str(text)) for name, text in texts.items()}


def _greater(one: Mapping[str, int], other: Mapping[str, int]) -> list[str]:
    """The resources of which one has more than the other; what either does not name is not compared."""
    return sorted(name for name, value in one.items() if name in other and value > other[name])


def _merged(choose: Callable[..., str], one: Texts, other: Texts) -> dict[str, str]:
    """All resources of both, and the smaller or larger of two amounts."""
    both = {name: choose(one[name], other[name], key=_by_amount(name)) for name in one if name in other}
    return {**one, **other, **both}


def _by_amount(name: str) -> Callable[[str], int]:
    return lambda text: amount(name, str(text))
