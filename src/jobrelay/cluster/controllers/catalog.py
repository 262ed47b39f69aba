"""The controllers of a cluster and how a list of their names is parsed.

Those of kube-controller-manager have their names there and run by default. Others are added to a list by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.controllers import cronjob, job, jobset, podgc, ttl, volumebinder
from jobrelay.cluster.controllers.aggregation import ClusterRoleAggregationController
from jobrelay.cluster.controllers.garbage import GarbageCollector
from jobrelay.cluster.controllers.policystatus import PolicyStatusController
from jobrelay.cluster.controllers.protection import AttributesClassProtection, ClaimProtection, VolumeProtection
from jobrelay.cluster.controllers.quota import ResourceQuotaController
from jobrelay.control import ControllerContext

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
# These are for custom kinds, and run only where they are asked for.
CUSTOM_CONTROLLERS: Final[dict[str, SetUp]] = {"jobset": jobset.set_up}
NAMESPACE: Final = "namespace-controller"
ALL: Final = tuple(sorted([*STORE_CONTROLLERS, *API_CONTROLLERS, NAMESPACE]))
NAMES: Final = (*ALL, *CUSTOM_CONTROLLERS)


class UnknownController(ValueError):
    """There is no controller of this name."""


def select_controllers(text: str) -> frozenset[str]:
    """Parses `none` or a list such as `job-controller,cronjob-controller` or `all,jobset`; raises UnknownController.

    `all` are those of kube-controller-manager.
    """
    if text == "none":
        return frozenset()
    names = frozenset(filter(None, (name.strip() for name in text.split(","))))
    if unknown := sorted(names - {"all", *NAMES}):
        raise UnknownController(f"unknown controller {unknown[0]!r}; there are {', '.join(NAMES)}")
    return (names - {"all"}) | (frozenset(ALL) if "all" in names else frozenset())
