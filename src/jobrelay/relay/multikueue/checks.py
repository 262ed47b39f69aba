"""The condition `Active` of MultiKueue's AdmissionChecks, by which Kueue knows whether their queues can admit.

The condition is a pure function of the check's MultiKueueConfig and the workers. It is written by the leader only, when
it differs; writing it is also how the relay finds out whether Kueue's own controller is on (`claims`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from jobrelay.apimachinery.times import format_time
from jobrelay.control import Controller, Result, WorkQueue
from jobrelay.kube import Conflict, EventNote, Key, NotFound, Object, merge_patch
from jobrelay.kube.events import ObjectReference
from jobrelay.logs import get_logger
from jobrelay.relay.leader_transport import NotLeading
from jobrelay.relay.multikueue.claims import MARK, CheckClaims
from jobrelay.relay.multikueue.leader import LeaderContext
from jobrelay.relay.multikueue.objects import KueueObjects
from jobrelay.relay.multikueue.views import CHECKS, CONFIGS, MultiKueueCheckView, read_check
from jobrelay.relay.original_controller import NOT_LEADING

log = get_logger(__name__)

_FIELD_MANAGER: Final = "jobrelay"


def active_condition(config: str, clusters: tuple[str, ...] | None, connected: Mapping[str, bool]) -> dict[str, str]:
    """The condition of a check whose MultiKueueConfig names these clusters; None if there is no such object."""
    if clusters is None:
        why = f'{CONFIGS.kind}.{CONFIGS.group} "{config}" not found'
        return _condition("False", "BadConfig", f"Cannot load the AdmissionChecks parameters: {why}")
    missing = [name for name in clusters if name not in connected]
    inactive = [name for name in clusters if name in connected and not connected[name]]
    lists = [(f"{what} clusters: [{' '.join(names)}]") for what, names in _lists(missing, inactive) if names]
    if len(missing) + len(inactive) == len(clusters):
        return _condition("False", "NoUsableClusters", ", ".join(lists) or "It names no clusters")
    if lists:
        return _condition("True", "SomeActiveClusters", ", ".join(lists))
    return _condition("True", "Active", "The admission check is active")


def _lists(missing: list[str], inactive: list[str]) -> tuple[tuple[str, list[str]], ...]:
    return ("Missing", missing), ("Inactive", inactive)


def _condition(status: str, reason: str, message: str) -> dict[str, str]:
    return {"type": "Active", "status": status, "reason": reason, "message": f"{message}; {MARK}"}


class CheckController:
    """Writes the conditions of all checks of MultiKueue; `changed` is called when one becomes ours or is not any more.

    `connected` says of each registered worker whether it is.
    """

    def __init__(
        self,
        objects: KueueObjects,
        claims: CheckClaims,
        connected: Callable[[], Mapping[str, bool]],
        changed: Callable[[], None],
        leader: LeaderContext,
    ) -> None:
        self._objects, self._claims, self._connected, self._changed = objects, claims, connected, changed
        self._client, self._recorder, self._clock, self._leads = (
            leader.client, leader.recorder, leader.clock, leader.leads,
        )  # fmt: skip
        self._queue: WorkQueue[Key] = WorkQueue(clock=leader.clock, max_delay=30.0)
        self._ours: dict[str, bool] = {}
        self.controller = Controller(
            "admission checks", self.reconcile, workers=1, queue=self._queue, clock=leader.clock, grace=leader.grace
        )
        objects.checks.subscribe(self._check_changed)
        objects.configs.subscribe(lambda old, new: self.workers_changed())

    def _check_changed(self, old: Object | None, new: Object | None) -> None:
        found = new or old
        if found is not None:
            self._queue.add(found.key)

    def workers_changed(self) -> None:
        """Look at all checks again: workers, or what a MultiKueueConfig names, may have changed."""
        for check in self._objects.checks:
            self._queue.add(check.key)

    async def reconcile(self, key: Key) -> Result | None:
        obj = self._objects.checks.get(key)
        if obj is None:
            self._claims.forget(key.name)
            self._report(key.name, None)
            return None
        check = read_check(obj)
        if not check.is_multikueue:
            return None
        if not self._leads():
            return NOT_LEADING
        self._claims.seen(key.name, str(check.condition("Active").get("message", "")))
        self._report(key.name, obj)
        if not self._claims.may_write(key.name):
            return Result(requeue_after=self._claims.stays_out(key.name))
        try:
            await self._write(obj, check)
        except NotLeading:
            return NOT_LEADING
        left = self._claims.settles_in(key.name)
        return Result(requeue_after=left) if left else None

    def _report(self, name: str, obj: Object | None) -> None:
        """Notify when a check becomes ours, or turns out to belong to another controller."""
        ours, out = self._claims.is_ours(name), self._claims.stays_out(name) > 0
        if out and obj is not None and self._ours.get(name) is not False:
            note = (
                "Kueue's own MultiKueue controller is at work, so jobrelay stays out: start Kueue with "
                "--feature-gates=MultiKueue=false to have jobrelay take over"
            )
            log.warning("an AdmissionCheck is not ours", check=name, reason=note)
            self._recorder.record(ObjectReference.of(obj, CHECKS), [EventNote("NotTheController", note, "Warning")])
        state = True if ours else False if out else None
        if state is not None and self._ours.get(name) is not state:
            self._ours[name] = state
            log.info("controller of an AdmissionCheck", check=name, ours=ours)
            self._changed()

    async def _write(self, obj: Object, check: MultiKueueCheckView) -> None:
        wanted = active_condition(check.config, self._objects.clusters(check.config), self._connected())
        held = check.condition("Active")
        if all(held.get(name) == value for name, value in wanted.items()):
            return
        same = held.get("status") == wanted["status"]
        at = held.get("lastTransitionTime") if same else None
        fresh: dict[str, Any] = {
            **wanted,
            "lastTransitionTime": at or format_time(self._clock.now()),
            "observedGeneration": obj.metadata.generation,
        }
        others = [one for one in check.status.conditions if one.get("type") != "Active"]
        change = {"metadata": {"resourceVersion": obj.resource_version}, "status": {"conditions": [*others, fresh]}}
        with suppress(Conflict, NotFound):
            written = await self._client.patch(
                CHECKS, obj.name, merge_patch(change), subresource="status", field_manager=_FIELD_MANAGER
            )
            self._claims.written(obj.name)
            self._objects.checks.observe(written)
