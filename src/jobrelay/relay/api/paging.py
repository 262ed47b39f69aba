"""One page of the workloads: which ones, in which order, and how many there are in all. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final

import msgspec

from jobrelay.relay.api.failures import bad_request
from jobrelay.relay.api.index import WorkloadRow
from jobrelay.relay.workload_status import STATUSES

MOST: Final = 500
_DEFAULT_SIZE: Final = 50
_LONGEST: Final = 200
_STATUS: Final = attrgetter("status")
_TEXT: Final = attrgetter("text")
_SORTS: Final[dict[str, Callable[[WorkloadRow], Any]]] = {
    "name": lambda row: row.ref.key.name,
    "namespace": lambda row: row.ref.key.namespace,
    "kind": lambda row: row.ref.kind,
    "status": _STATUS,
    "worker": attrgetter("cluster"),
    "run": attrgetter("run"),
    "created": attrgetter("created"),
}


class PageRequest(msgspec.Struct, frozen=True):
    """Which workloads are asked for; empty texts choose all."""

    page: int = 1
    size: int = _DEFAULT_SIZE
    search: str = ""
    status: str = ""
    worker: str = ""
    kind: str = ""
    sort: str = "-created"


class Page(msgspec.Struct, frozen=True):
    """A page, the number of workloads that were chosen, and how many of all but for the status have each."""

    rows: list[WorkloadRow]
    chosen: int
    statuses: Mapping[str, int]


def parse_page_request(query: Mapping[str, str]) -> PageRequest | None:
    """The parameters; None if none of them asks for a page. Raises ApiFailure."""
    if "page" not in query:
        return None
    status, sort = query.get("status", "").capitalize(), query.get("sort", "") or "-created"
    if status and status not in STATUSES:
        raise bad_request(f"status={status!r} is none of {', '.join(STATUSES)}")
    if sort.removeprefix("-") not in _SORTS:
        raise bad_request(f"sort={sort!r} is none of {', '.join(_SORTS)}, with a - in front for the reverse")
    texts = [query.get(name, "")[:_LONGEST] for name in ("search", "worker", "kind")]
    size = _number(query, "pageSize", _DEFAULT_SIZE, MOST)
    return PageRequest(_number(query, "page", 1, 10**6), size, texts[0], status, texts[1], texts[2].lower(), sort)


def _number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = query.get(name) or str(default)
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or not 1 <= int(text) <= most:
        raise bad_request(f"{name}={text!r} is not a number from 1 to {most}")
    return int(text)


def choose_page(rows: Iterable[WorkloadRow], asked: PageRequest) -> Page:
    """The rows of one page. A page beyond the last one is empty."""
    matching = list(_matching(rows, asked))
    statuses = Counter(map(_STATUS, matching))
    if asked.status:
        matching = [row for row in matching if row.status == asked.status]
    matching.sort(key=_TEXT)
    matching.sort(key=_SORTS[asked.sort.removeprefix("-")], reverse=asked.sort.startswith("-"))
    first = (asked.page - 1) * asked.size
    return Page(matching[first : first + asked.size], len(matching), statuses)


def _matching(rows: Iterable[WorkloadRow], asked: PageRequest) -> Iterable[WorkloadRow]:
    """Those that match all but the status; a filter that is not there costs nothing, since there may be many rows."""
    if asked.worker:
        rows = [row for row in rows if row.cluster == asked.worker]
    if asked.kind:
        rows = [row for row in rows if _is_kind(row.ref.kind, asked.kind)]
    for word in asked.search.lower().split():
        rows = [row for row in rows if word in row.text]
    return rows


def _is_kind(name: str, asked: str) -> bool:
    """Whether a kind (`jobs.batch`) is meant by its name, its plural or its singular."""
    plural = name.partition(".")[0]
    return asked in (name, plural, plural.removesuffix("s"))
