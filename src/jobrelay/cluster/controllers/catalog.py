"""The controllers of a cluster, named as in kube-controller-manager, and how a list of names is parsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.controllers import cronjob, job, podgc, ttl, volumebinder
from jobrelay.cluster.controllers.aggregation import ClusterRoleAggregationController
from jobrelay.cluster.controllers.context import ControllerContext
from jobrelay.cluster.controllers.garbage import GarbageCollector
from jobrelay.cluster.controllers.policystatus import PolicyStatusController
from jobrelay.cluster.controllers.protection import AttributesClassProtection, ClaimProtection, VolumeProtection
from jobrelay.cluster.controllers.quota import ResourceQuotaController

SetUp = Callable[[ControllerContext], None]


class StoreController(Protocol):
    """A controller that reacts to the store's commits within the same tick."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


STORE_CONTROLLERS: Final[dict[str, Callable[[ServerContext], StoreController]]] = {
    "clusterrole-aggregation-controller": ClusterRoleAggregationController,
    "garbage-collector-controller": GarbageCollector,
    "persistentvolume-protection-controller": VolumeProtection,
    "persistentvolumeclaim-protection-controller": ClaimProtection,
    "resourcequota-controller": ResourceQuotaController,
    "validatingadmissionpolicy-status-controller": PolicyStatusController,
    "volumeattributesclass-protection-controller": AttributesClassProtection,
}
# These work through the API, as they would on any cluster.
API_CONTROLLERS: Final[dict[str, SetUp]] = {
    "cronjob-controller": cronjob.set_up,
    "job-controller": job.set_up,
    "persistentvolume-binder-controller": volumebinder.set_up,
    "pod-garbage-collector-controller": podgc.set_up,
    "ttl-after-finished-controller": ttl.set_up,
}
NAMESPACE: Final = "namespace-controller"
NAMES: Final = tuple(sorted([*STORE_CONTROLLERS, *API_CONTROLLERS, NAMESPACE]))


class UnknownController(ValueError):
    """There is no controller of this name."""


def select_controllers(text: str) -> frozenset[str]:
    """Parses `all`, `none` or a list such as `job-controller,cronjob-controller`; raises UnknownController."""
    if text == "none":
        return frozenset()
    if text == "all":
        return frozenset(NAMES)
    names = frozenset(filter(None, (name.strip() for name in text.split(","))))
    if unknown := sorted(names - set(NAMES)):
        raise UnknownController(f"unknown controller {unknown[0]!r}; there are {', '.join(NAMES)}")
    return names
