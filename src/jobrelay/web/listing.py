"""The list of workloads as its URL asks for it: filters, order and page, and the links to others. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Final
from urllib.parse import urlencode

import msgspec

from jobrelay.relay.workload_status import STATUSES

SIZE: Final = 50
_LONGEST: Final = 200
COLUMNS: Final = (
    ("name", "Name"), ("namespace", "Namespace"), ("kind", "Kind"), ("status", "Status"), ("worker", "Worker"),
    ("created", "Age"),
)  # fmt: skip
_DESCENDING_FIRST: Final = frozenset({"created"})


class ListRequest(msgspec.Struct, frozen=True):
    """What is shown; empty texts choose everything."""

    search: str = ""
    status: str = ""
    namespace: str = ""
    worker: str = ""
    kind: str = ""
    sort: str = "-created"
    page: int = 1

    def url(self, **changes: str | int) -> str:
        """The query of the same list with changes; another filter or order begins at its first page."""
        changed = msgspec.structs.replace(self, **{"page": 1, **changes})
        given = msgspec.structs.asdict(changed)
        defaults = msgspec.structs.asdict(ListRequest())
        return "?" + urlencode({name: value for name, value in given.items() if value != defaults[name]})

    def api_query(self) -> dict[str, str]:
        """The parameters by which the relay is asked."""
        texts = {name: getattr(self, name) for name in ("search", "status", "worker", "kind", "sort")}
        return {"page": str(self.page), "pageSize": str(SIZE), **{name: each for name, each in texts.items() if each}}

    @property
    def filtered(self) -> bool:
        return any((self.search, self.status, self.worker, self.kind))


class ColumnHeader(msgspec.Struct, frozen=True):
    """The header of a column: its text, its order for screen readers (`aria-sort`), and the URL that sorts by it."""

    text: str
    order: str
    url: str


def heads_of(asked: ListRequest) -> list[ColumnHeader]:
    """The heads of all columns by which a list can be sorted."""
    return [ColumnHeader(text, _order(asked, name), asked.url(sort=_next_sort(asked, name))) for name, text in COLUMNS]


def _order(asked: ListRequest, column: str) -> str:
    if asked.sort.removeprefix("-") != column:
        return ""
    return "descending" if asked.sort.startswith("-") else "ascending"


def _next_sort(asked: ListRequest, column: str) -> str:
    if _order(asked, column):
        return column if asked.sort.startswith("-") else f"-{column}"
    return f"-{column}" if column in _DESCENDING_FIRST else column


def parse_list(query: Mapping[str, str]) -> ListRequest:
    """The query of a URL; what means nothing is left out."""
    texts = {
        name: query.get(name, "").strip()[:_LONGEST] for name in ("search", "status", "namespace", "worker", "kind")
    }
    texts["status"] = next((each for each in STATUSES if each.lower() == texts["status"].lower()), "")
    sort, page = query.get("sort", ""), query.get("page", "1")
    known = sort if sort.removeprefix("-") in {name for name, _ in COLUMNS} else "-created"
    return ListRequest(**texts, sort=known, page=int(page) if _is_page(page) else 1)


def _is_page(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 6 and int(text) > 0


class Pagination(msgspec.Struct, frozen=True):
    """The position of a page in the whole list."""

    page: int
    last: int
    first_row: int
    last_row: int
    total: int


def pages_of(page: int, total: int) -> Pagination:
    """The place of a page in a list with this number of rows."""
    first = (page - 1) * SIZE + 1
    return Pagination(page, max(1, ceil(total / SIZE)), min(first, total), min(page * SIZE, total), total)
