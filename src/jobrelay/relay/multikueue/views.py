"""What decisions need of Kueue's objects: views of Workloads, AdmissionChecks and MultiKueueConfigs.

The id of a reservation distinguishes it from earlier and later ones of the same Workload. Times alone do not, since
they have no fractions of seconds; Kueue counts the evictions between two reservations. One that is under way is counted
already, while the reservation is still that of the run that is being stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from jobrelay.kube import Object, ProtocolError, Resource
from jobrelay.relay.workers.multikueue import CONFIGS as CONFIG_VERSIONS
from jobrelay.relay.workers.multikueue import GROUP, WORKLOADS

VERSION: Final = "v1beta2"
CHECKS: Final = Resource(GROUP, VERSION, "admissionchecks", "AdmissionCheck", namespaced=False)
CONFIGS: Final = CONFIG_VERSIONS[VERSION]

CONTROLLER: Final = "kueue.x-k8s.io/multikueue"
"""The controllerName of the checks of MultiKueue."""
QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"

__all__ = [
    "CHECKS",
    "CONFIGS",
    "CONTROLLER",
    "PENDING",
    "QUEUE_NAME",
    "READY",
    "REJECTED",
    "RETRY",
    "WORKLOADS",
    "MultiKueueCheckState",
    "MultiKueueCheckView",
    "QueuedWorkload",
    "read_check",
    "read_workload",
]

PENDING, READY, RETRY, REJECTED = "Pending", "Ready", "Retry", "Rejected"


class _Condition(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""


class MultiKueueCheckState(msgspec.Struct, frozen=True, rename="camel"):
    """The state of one check on a Workload."""

    name: str
    state: str = PENDING
    message: str = ""


class _Eviction(msgspec.Struct, frozen=True):
    count: int = 0


class _Stats(msgspec.Struct, frozen=True):
    evictions: tuple[_Eviction, ...] = ()


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    conditions: tuple[_Condition, ...] = ()
    admission_checks: tuple[MultiKueueCheckState, ...] = ()
    cluster_name: str | None = None
    nominated_cluster_names: tuple[str, ...] = ()
    scheduling_stats: _Stats = _Stats()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    queue_name: str = ""


class _Workload(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()
    status: _Status = _Status()


class QueuedWorkload(msgspec.Struct, frozen=True):
    """A Workload as decisions need it."""

    name: str
    queue: str
    conditions: Mapping[str, _Condition]
    checks: tuple[MultiKueueCheckState, ...]
    cluster: str
    """The worker that it was admitted on; empty before that."""
    nominated: tuple[str, ...]
    id: str
    """Tells the present reservation from others; empty if there is none."""

    def holds(self, condition: str) -> bool:
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"

    @property
    def reserved(self) -> bool:
        return self.holds("QuotaReserved")

    @property
    def admitted(self) -> bool:
        return self.holds("Admitted")

    @property
    def finished(self) -> bool:
        return self.holds("Finished")

    @property
    def evicted(self) -> bool:
        return self.holds("Evicted")

    def message(self, condition: str) -> str:
        found = self.conditions.get(condition)
        return found.message if found is not None else ""


@lru_cache(4096)
def _read(raw: bytes, name: str, uid: str) -> QueuedWorkload:
    found = msgspec.json.decode(raw, type=_Workload)
    status, conditions = found.status, {one.type: one for one in found.status.conditions}
    reserved = conditions.get("QuotaReserved")
    reservation = ""
    if reserved is not None and reserved.status == "True":
        evicted = conditions.get("Evicted")
        under_way = evicted is not None and evicted.status == "True"
        evictions = sum(each.count for each in status.scheduling_stats.evictions) - under_way
        reservation = f"{uid[:8]}.{reserved.last_transition_time}.{evictions}"
    return QueuedWorkload(
        name,
        found.spec.queue_name,
        conditions,
        status.admission_checks,
        status.cluster_name or "",
        status.nominated_cluster_names,
        reservation,
    )


def read_workload(obj: Object) -> QueuedWorkload | None:
    """A Workload as decisions need it; None if Kueue cannot have written it."""
    try:
        return _read(obj.raw, obj.name, obj.uid)
    except msgspec.MsgspecError:
        return None


class _Parameters(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""


class _CheckSpec(msgspec.Struct, frozen=True, rename="camel"):
    controller_name: str = ""
    parameters: _Parameters | None = None


class _CheckStatus(msgspec.Struct, frozen=True):
    conditions: tuple[dict[str, Any], ...] = ()


class MultiKueueCheckView(msgspec.Struct, frozen=True):
    """An AdmissionCheck."""

    spec: _CheckSpec = _CheckSpec()
    status: _CheckStatus = _CheckStatus()

    @property
    def is_multikueue(self) -> bool:
        return self.spec.controller_name == CONTROLLER

    @property
    def config(self) -> str:
        """The name of its MultiKueueConfig; empty if it names none."""
        named = self.spec.parameters
        return named.name if named is not None and named.kind == CONFIGS.kind else ""

    def condition(self, type_: str) -> Mapping[str, Any]:
        return next((one for one in self.status.conditions if one.get("type") == type_), {})


def read_check(obj: Object) -> MultiKueueCheckView:
    """An AdmissionCheck; an empty one if it cannot be read."""
    try:
        return obj.decode(MultiKueueCheckView)
    except ProtocolError:
        return MultiKueueCheckView()
