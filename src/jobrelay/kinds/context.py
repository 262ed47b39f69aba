"""The request that is being served, as far as a kind's hooks need it: when it came and who sent it.

Almost every hook is a function of the objects alone. A few write the time of the change (a volume's phase, a
certificate request's conditions) or the requester (a certificate request). The server sets `current` for the
request's task; tests set it to whatever they like. Outside a request the time is the real one and the requester is
nobody.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from jobrelay.apimachinery.times import UTC, format_time


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks: what authentication found out."""

    username: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its time (None: now) and its sender."""

    time: dt.datetime | None = None
    requester: Requester = Requester()


current: Final[ContextVar[Request]] = ContextVar("request", default=Request())  # noqa: B039 (frozen)


def request_time() -> str:
    """The time of the request, as objects carry it."""
    return format_time(current.get().time or dt.datetime.now(UTC))


def requester() -> Requester:
    return current.get().requester
