"""Evaluators of services, of claims for storage and of claims for devices."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from jobrelay.apimachinery.quantity import Quantity, parse
from jobrelay.kinds.core.admission import attributes_classes, class_of
from jobrelay.kinds.core.quota.amounts import ONE, ZERO, Amounts, count
from jobrelay.kinds.core.quota.evaluator import Evaluator, Fields, value_fits
from jobrelay.kinds.core.resources import whole

CLAIMS: Final = "persistentvolumeclaims"
DEVICE_CLAIMS: Final = "resourceclaims.resource.k8s.io"
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_DEVICES: Final = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES: Final = 32


class ServiceEvaluator(Evaluator):
    counts_only = False

    def __init__(self) -> None:
        super().__init__("services")
        self._names |= {"services", "services.nodeports", "services.loadbalancers"}

    def handles(self, operation: str, subresource: str, new: Fields, old: Fields) -> bool:
        return operation in ("CREATE", "UPDATE") and not subresource

    def usage(self, obj: Fields, now: dt.datetime) -> Amounts:
        spec = obj["spec"]
        type_, ports = spec.get("type"), spec.get("ports") or ()
        if spec.get("allocateLoadBalancerNodePorts") is False and type_ == "LoadBalancer":
            ports = [port for port in ports if port.get("nodePort")]
        return {
            "count/services": ONE,
            "services": ONE,
            "services.nodeports": count(len(ports)) if type_ in ("NodePort", "LoadBalancer") else ZERO,
            "services.loadbalancers": ONE if type_ == "LoadBalancer" else ZERO,
        }


class ClaimEvaluator(Evaluator):
    """Claims and their storage, of all classes and of each."""

    counts_only = False

    def __init__(self) -> None:
        super().__init__(CLAIMS)
        self._names |= {CLAIMS, "requests.storage"}

    def handles(self, operation: str, subresource: str, new: Fields, old: Fields) -> bool:
        if subresource == "status":
            return _allocated(new) != _allocated(old) or attributes_classes(new) != attributes_classes(old)
        return operation in ("CREATE", "UPDATE") and not subresource

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        suffixes = (_OF_CLASS + CLAIMS, _OF_CLASS + "requests.storage")
        return frozenset(name for name in names if name in self._names or name.endswith(suffixes))

    def in_scope(self, requirement: Fields, obj: Fields) -> bool:
        if requirement["scopeName"] != "VolumeAttributesClass":
            return False
        classes = attributes_classes(obj)
        if requirement["operator"] == "Exists":
            return bool(classes)
        return any(value_fits(requirement, name) for name in classes or {""})

    def scope_facts(self, obj: Fields) -> object:
        return attributes_classes(obj)

    def usage(self, obj: Fields, now: dt.datetime) -> Amounts:
        used = {f"count/{CLAIMS}": ONE, CLAIMS: ONE}
        if (storage := _storage(obj)) is not None:
            used["requests.storage"] = storage
        if name := class_of(obj):
            used |= {f"{name}{_OF_CLASS}{each}": used[each] for each in (CLAIMS, "requests.storage") if each in used}
        return used


class DeviceClaimEvaluator(Evaluator):
    """Resource claims, and the devices of each class that they may get."""

    counts_only = False

    def __init__(self) -> None:
        super().__init__(DEVICE_CLAIMS)

    def handles(self, operation: str, subresource: str, new: Fields, old: Fields) -> bool:
        return operation in ("CREATE", "UPDATE") and not subresource

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(name for name in names if name in self._names or name.endswith(_DEVICES))

    def usage(self, obj: Fields, now: dt.datetime) -> Amounts:
        used = {f"count/{DEVICE_CLAIMS}": ONE}
        for request in (obj["spec"].get("devices") or {}).get("requests") or ():
            options = request.get("firstAvailable") or ([request["exactly"]] if request.get("exactly") else [])
            most: dict[str, int] = {}
            for option in options:
                name = option.get("deviceClassName", "") + _DEVICES
                most[name] = max(most.get(name, 0), _devices(option))
            for name, number in most.items():
                used[name] = used.get(name, ZERO) + count(number)
        return used


def _devices(request: Fields) -> int:
    if request.get("allocationMode") == "All":
        return _MOST_DEVICES
    return int(request.get("count", 0)) if request.get("allocationMode") == "ExactCount" else 0


def _storage(claim: Fields) -> Quantity | None:
    """The storage that a claim asks for, or has been allocated if that is more, in whole bytes."""
    asked = (claim["spec"].get("resources") or {}).get("requests") or {}
    if "storage" not in asked:
        return None
    amount, allocated = parse(asked["storage"]), _allocated(claim)
    if allocated is not None and parse(allocated).value > amount.value:
        amount = parse(allocated)
    return Quantity(Fraction(whole(amount.value)), amount.format)


def _allocated(claim: Fields) -> str | None:
    found: str | None = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
    return found
