"""Conditions of Workloads and queues: looking one up, and setting one.

A condition that changes only its message keeps the time of its last transition, as everywhere in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from jobrelay.apimachinery.times import format_time, parse_time

_LONGEST_MESSAGE = 32768


class StatusCondition(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One condition of a status."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str
    observed_generation: int = 0

    @property
    def holds(self) -> bool:
        return self.status == "True"

    @property
    def since(self) -> datetime:
        """When its status last changed."""
        return parse_time(self.last_transition_time)


Conditions = tuple[StatusCondition, ...]


def find(conditions: Iterable[StatusCondition], type_: str) -> StatusCondition | None:
    """The condition of a type."""
    return next((each for each in conditions if each.type == type_), None)


def holds(conditions: Iterable[StatusCondition], type_: str) -> bool:
    """Whether the condition of a type is True."""
    found = find(conditions, type_)
    return found is not None and found.holds


def with_condition(
    conditions: Conditions, type_: str, status: bool, reason: str, message: str, now: datetime, generation: int = 0
) -> Conditions:
    """The conditions with one of them set; the same ones if it is so already."""
    before = find(conditions, type_)
    text = "True" if status else "False"
    message = message[:_LONGEST_MESSAGE]
    if before is not None and (before.status, before.reason, before.message) == (text, reason, message):
        return conditions
    at = before.last_transition_time if before is not None and before.status == text else format_time(now)
    new = StatusCondition(type_, text, reason, message, at, generation)
    if before is None:
        return (*conditions, new)
    return tuple(new if each is before else each for each in conditions)


def without(conditions: Conditions, type_: str) -> Conditions:
    return tuple(each for each in conditions if each.type != type_)
