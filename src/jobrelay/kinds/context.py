"""The time and the user of the request that is being served, for the hooks of kinds.

Almost every hook is a function of the objects alone. A few write the time of the change (a volume's phase, a
certificate request's conditions) or the requester (a certificate request). The server sets `current` for the request's
task, and so do tests. Outside of a request the time is the current time and the user is empty.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Final

import msgspec

from jobrelay.apimachinery.times import UTC, format_time


class RequestUser(msgspec.Struct, frozen=True):
    """The user of a request, as authenticated."""

    username: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = {}


class RequestContext(msgspec.Struct, frozen=True):
    """One request: its time (None: now) and its sender."""

    time: dt.datetime | None = None
    requester: RequestUser = RequestUser()


current: Final[ContextVar[RequestContext]] = ContextVar("request", default=RequestContext())  # noqa: B039 (frozen)


def request_time() -> str:
    """The time of the request, as objects carry it."""
    return format_time(current.get().time or dt.datetime.now(UTC))


def requester() -> RequestUser:
    return current.get().requester
