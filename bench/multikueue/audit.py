"""Writes as API servers have noted them in their audit logs: who has written what, how often.

A request counts if it was answered, whatever the answer: one that changes nothing costs as much. Leases and Events are
counted apart, since the first depend on time alone and the others are told beside the work.
"""

from __future__ import annotations

import json
import pathlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

EVENTS: Final = "events"
_LEASES: Final = "leases"
_ADMIN: Final = "admin"


@dataclass(frozen=True, slots=True, order=True)
class Write:
    """A kind of write: by whom, what is done with which resource, and the answer if it was an error."""

    who: str
    verb: str
    resource: str
    error: int = 0

    @property
    def is_event(self) -> bool:
        return self.resource == EVENTS


def read(log: pathlib.Path, offset: int) -> Counter[Write]:
    """The writes of a log from a position on."""
    with log.open("rb") as lines:
        lines.seek(offset)
        return count(json.loads(line) for line in lines if line.endswith(b"\n"))


def count(entries: Iterable[dict[str, Any]]) -> Counter[Write]:
    """How often there was each kind of write."""
    return Counter(_writes(entries))


def _writes(entries: Iterable[dict[str, Any]]) -> Iterator[Write]:
    for entry in entries:
        what = entry.get("objectRef") or {}
        resource = "/".join(filter(None, (what.get("resource"), what.get("subresource"))))
        code = int((entry.get("responseStatus") or {}).get("code", 0))
        if resource and resource != _LEASES:
            yield Write(_who(entry), entry["verb"], resource, code if code >= 400 else 0)


def _who(entry: dict[str, Any]) -> str:
    """The user, or what the program of the administrator calls itself: `kueue/v0.0.0 (linux/amd64) ...`."""
    user = entry["user"]["username"]
    return str(entry.get("userAgent", "")).partition("/")[0] if user == _ADMIN else str(user).rpartition(":")[2]


def per_job(writes: Counter[Write], jobs: int, *, events: bool = False) -> float:
    """Writes for each Job, with or without Events."""
    return sum(number for each, number in writes.items() if events or not each.is_event) / jobs
