"""The status of a JobSet while it is decided about: counters, conditions, and the events that follow from them.

A change of a condition is also an event, which is recorded only if the status could be written.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final, Literal

from jobrelay.cluster.controllers.jobset import names
from jobrelay.kube.events import EventNote

__all__ = ["StatusDraft"]

Obj = dict[str, Any]
Severity = Literal["Normal", "Warning"]

_EXCLUSIVE: Final = ({names.STARTING, names.STARTED},)


class StatusDraft:
    """A status that is being changed; `result` is what to write, or None if nothing has changed."""

    def __init__(self, status: Mapping[str, Any] | None, now: str) -> None:
        self._status: Obj = copy.deepcopy(dict(status or {}))
        self._now = now
        self._changed = False
        self.events: list[EventNote] = []

    @property
    def result(self) -> Obj | None:
        if not self._changed:
            return None
        return {"restarts": 0, **self._status}

    def count_jobs(self, counted: list[Obj]) -> None:
        """Sets the counters of the replicated jobs, which are kept in descending order of names."""
        wanted = sorted(counted, key=lambda each: str(each["name"]), reverse=True)
        if wanted != (self._status.get("replicatedJobsStatus") or []):
            self._status["replicatedJobsStatus"] = wanted
            self._changed = True

    def complete(self) -> None:
        text = "jobset completed successfully"
        self._set(names.COMPLETED, "True", "AllJobsCompleted", text)
        self.end_restarting("JobSetCompleted", text)
        self._status["terminalState"] = names.COMPLETED

    def fail(self, reason: str, message: str) -> None:
        self._set(names.FAILED, "True", reason, message, "Warning")
        self.end_restarting("JobSetFailed", "jobset failed")
        self._status["terminalState"] = names.FAILED

    def suspend(self) -> None:
        text = "jobset is suspended"
        self._set(names.SUSPENDED, "True", "SuspendedJobs", text)
        self.end_restarting("JobSetSuspended", text)

    def resume(self) -> None:
        self._set(names.SUSPENDED, "False", "ResumeJobs", "jobset is resumed")

    def starting_in_order(self) -> None:
        text = "in order startup policy is in progress"
        self._set(names.STARTING, "True", "InOrderStartupPolicyInProgress", text)

    def started_in_order(self) -> None:
        text = "in order startup policy has completed"
        self._set(names.STARTED, "True", "InOrderStartupPolicyCompleted", text)

    def restart(self, action: str, reason: str, message: str, *, counts: bool) -> None:
        """Begins a restart of all Jobs; `counts` if it is one of `maxRestarts`."""
        for counter in ("restarts", "restartsCountTowardsMax") if counts else ("restarts",):
            self._status[counter] = (self._status.get(counter) or 0) + 1
        self._changed = True
        self._set(names.RESTARTING, "True", reason, message, "Warning")
        self.events.append(EventNote(f"{action}FailurePolicyAction", message, "Warning"))

    def end_restarting(self, reason: str, message: str) -> None:
        self._set(names.RESTARTING, "False", reason, message)

    def _set(self, type_: str, status: str, reason: str, message: str, severity: Severity = "Normal") -> None:
        new = {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": self._now}
        if self._update(new):
            self._changed = True
            self.events.append(EventNote(reason, message, severity))

    def _update(self, new: Obj) -> bool:
        """Sets a condition; returns whether anything has changed. One that is not there is added only if it is true."""
        conditions: list[Obj] = self._status.get("conditions") or []
        found = changed = False
        for index, old in enumerate(conditions):
            if old["type"] == new["type"]:
                found = True
                if old["status"] != new["status"]:
                    conditions[index], changed = new, True
                elif (old.get("reason"), old.get("message")) != (new["reason"], new["message"]):
                    conditions[index] = {**new, "lastTransitionTime": old["lastTransitionTime"]}
                    changed = True
            elif {old["type"], new["type"]} in _EXCLUSIVE and old["status"] == new["status"] == "True":
                conditions[index], changed = {**old, "status": "False"}, True
        if not found and new["status"] == "True":
            conditions, changed = [*conditions, new], True
        if conditions:
            self._status["conditions"] = conditions
        return changed
