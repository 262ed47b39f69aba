"""What pods use: themselves, their requests and limits, until they have ended."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, Final

from jobrelay.apimachinery.quantity import Quantity
from jobrelay.apimachinery.times import parse_time
from jobrelay.kinds.core.pod.common import is_sidecar
from jobrelay.kinds.core.pod.resources import is_pod_level, qos_class, sum_of_containers
from jobrelay.kinds.core.quota.amounts import ONE, Amounts, add, as_texts, parsed
from jobrelay.kinds.core.quota.evaluator import Evaluator, value_fits
from jobrelay.kinds.core.resources import is_extended, is_huge_page, is_native

Fields = Mapping[str, Any]
PODS: Final = "pods"
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_REQUIRED: Final = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
_HUGE_PAGES: Final = ("hugepages-", "requests.hugepages-")
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_AFFINITY: Final = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")


class PodEvaluator(Evaluator):
    counts_only = False

    def __init__(self) -> None:
        super().__init__(PODS)
        self._names |= {PODS, *_COMPUTE, *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _COMPUTE)}

    def handles(self, operation: str, subresource: str, new: Fields, old: Fields) -> bool:
        if operation == "UPDATE":
            return subresource == "resize" or (not subresource and is_terminating(new) != is_terminating(old))
        return not subresource

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(name for name in names if name in self._names or _is_of_pods(name))

    def in_scope(self, requirement: Fields, obj: Fields) -> bool:
        match requirement["scopeName"]:
            case "Terminating":
                return is_terminating(obj)
            case "NotTerminating":
                return not is_terminating(obj)
            case "BestEffort":
                return qos_class(obj["spec"]) == "BestEffort"
            case "NotBestEffort":
                return qos_class(obj["spec"]) != "BestEffort"
            case "PriorityClass":
                return value_fits(requirement, obj["spec"].get("priorityClassName", ""))
            case "CrossNamespacePodAffinity":
                return _looks_at_other_namespaces(obj["spec"].get("affinity") or {})
        return False

    def scope_facts(self, obj: Fields) -> object:
        return is_terminating(obj)

    def missing(self, names: Iterable[str], obj: Fields) -> str:
        """Where cpu or memory are limited, each container must name them, unless the pod as a whole does."""
        spec = obj["spec"]
        if _has_pod_level(spec):
            return ""
        required = _REQUIRED & frozenset(names)
        lacking: dict[str, set[str]] = {}
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            given = _compute(parsed(resources.get("requests")), parsed(resources.get("limits")))
            for name in required - given.keys():
                lacking.setdefault(name, set()).add(container.get("name", ""))
        if not lacking:
            return ""
        return "must specify " + "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))

    def usage(self, obj: Fields, now: dt.datetime) -> Amounts:
        if not _is_charged(obj, now):
            return {"count/pods": ONE}
        spec = _effective(obj)
        requests, limits = sum_of_containers(spec, "requests"), sum_of_containers(spec, "limits")
        pod_level, overhead = spec.get("resources") or {}, parsed(spec.get("overhead"))
        requests = add(_overridden(requests, pod_level.get("requests")), overhead)
        limits = _overridden(limits, pod_level.get("limits"))
        limited = {name: amount for name, amount in overhead.items() if name in limits and limits[name].value}
        return {"count/pods": ONE, PODS: ONE, **_compute(requests, add(limits, limited))}


def _is_of_pods(name: str) -> bool:
    if name.startswith(_HUGE_PAGES):
        return True
    return name.startswith("requests.") and (not is_native(name) or name.startswith(f"requests.{_DEVICE_CLASS}"))


def _compute(requests: Amounts, limits: Amounts) -> dict[str, Quantity]:
    """Requests and limits by the names that quotas use for them."""
    used: dict[str, Quantity] = {}
    for name, amount in requests.items():
        if name in _COMPUTE or is_huge_page(name):
            used |= {name: amount, f"requests.{name}": amount}
        elif is_extended(name) or name.startswith(_DEVICE_CLASS):
            used[f"requests.{name}"] = amount
    return used | {f"limits.{name}": limits[name] for name in _COMPUTE if name in limits}


def _overridden(total: Amounts, pod_level: Mapping[str, str] | None) -> dict[str, Quantity]:
    given = parsed(pod_level)
    return {**total, **{name: amount for name, amount in given.items() if is_pod_level(name)}}


def _has_pod_level(spec: Fields) -> bool:
    resources = spec.get("resources") or {}
    return any(is_pod_level(name) for kind in ("requests", "limits") for name in resources.get(kind) or ())


def is_terminating(pod: Fields) -> bool:
    """Whether a pod ends by itself after some time."""
    return pod["spec"].get("activeDeadlineSeconds") is not None


def _is_charged(pod: Fields, now: dt.datetime) -> bool:
    """A pod that has ended, or whose time to end is over, is only counted as an object."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    metadata = pod["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("deletionGracePeriodSeconds") is None:
        return True
    grace = dt.timedelta(seconds=metadata["deletionGracePeriodSeconds"])
    return now <= parse_time(metadata["deletionTimestamp"]) + grace


def _effective(pod: Fields) -> Fields:
    """The spec with the resources that containers have, where a resize has not come through yet."""
    spec, status = pod["spec"], pod.get("status") or {}
    listed = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    actual = {one["name"]: one for one in listed if one.get("resources") is not None}
    if not actual:
        return spec  # type: ignore[no-any-return]
    conditions = {one["type"]: one.get("reason") for one in status.get("conditions") or ()}
    infeasible = conditions.get("PodResizePending") == "Infeasible"

    def resized(container: Fields, *, may: bool = True) -> Fields:
        one = actual.get(container["name"]) if may else None
        return container if one is None else {**container, "resources": _larger(container, one, infeasible=infeasible)}

    return {
        **spec,
        "containers": [resized(container) for container in spec.get("containers") or ()],
        "initContainers": [resized(one, may=is_sidecar(one)) for one in spec.get("initContainers") or ()],
    }


def _larger(container: Fields, status: Fields, *, infeasible: bool) -> dict[str, Any]:
    spec = {} if infeasible else container.get("resources") or {}
    actual = status["resources"]
    allocated = status.get("allocatedResources")
    return {
        "requests": _most(spec.get("requests"), actual.get("requests"), allocated),
        "limits": _most(spec.get("limits"), actual.get("limits")),
    }


def _most(*lists: Mapping[str, str] | None) -> dict[str, str]:
    most: dict[str, Quantity] = {}
    for one in lists:
        for name, amount in parsed(one).items():
            if name not in most or amount.value > most[name].value:
                most[name] = amount
    return as_texts(most)


def _looks_at_other_namespaces(affinity: Fields) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        for field in _AFFINITY:
            for given in (affinity.get(kind) or {}).get(field) or ():
                term = given.get("podAffinityTerm", given)
                if term.get("namespaces") or term.get("namespaceSelector") is not None:
                    return True
    return False
