"""A column of a table: its definition on the wire and the cell that it shows of an object.

The real server fills most column descriptions from the API's own documentation of fields, so a column only names the
field (`doc`), and its text is read on first use. A few columns use the words of an older release of the API: `edits`
turns the current words into those.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kinds.fieldtexts import FieldTexts
from jobrelay.kinds.tables.ages import since

Obj = dict[str, Any]
Cell = Callable[[Obj, dt.datetime], Any]

_texts: Final = FieldTexts()


def field_text(doc: str) -> str:
    """The documentation of a field, such as `core.v1.PodSpec.nodeName` or `meta.v1.ObjectMeta.name`."""
    owner, _, field = doc.rpartition(".")
    root = "io.k8s.apimachinery.pkg.apis." if owner.startswith("meta.") else "io.k8s.api."
    return _texts.of_field(root + owner, field)


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column; `hidden` ones fill a cell without a definition, as one of the real server's printers does."""

    name: str
    cell: Cell
    doc: str = ""
    text: str = ""
    type: str = "string"
    format: str = ""
    priority: int = 0
    edits: tuple[tuple[str, str], ...] = ()
    hidden: bool = False

    def definition(self) -> dict[str, Any]:
        description = self.text or (field_text(self.doc) if self.doc else "")
        for pattern, new in self.edits:
            description = re.sub(pattern, new, description)
        shown = {"name": self.name, "type": self.type, "format": self.format}
        return {**shown, "description": description, "priority": self.priority}


@dataclass(frozen=True)
class TableSpec:
    """The table of a kind: definitions, cells and row conditions.

    `order` sorts the rows of a list. `plain` tables are the server's generic ones, whose rows are null instead of an
    empty list when there are none.
    """

    layout: tuple[Column, ...]
    conditions: Callable[[Obj], list[dict[str, str]]] = lambda obj: []
    order: Callable[[list[Obj]], list[Obj]] = lambda objects: objects
    plain: bool = False

    @functools.cached_property
    def columns(self) -> list[dict[str, Any]]:
        return [column.definition() for column in self.layout if not column.hidden]

    def cells(self, obj: Obj, now: dt.datetime) -> list[Any]:
        return [column.cell(obj, now) for column in self.layout]


def at(path: str, default: Any = "") -> Cell:
    """A cell that shows the value at a dotted path."""
    steps = path.split(".")

    def cell(obj: Obj, now: dt.datetime) -> Any:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        return default if value is None else value

    return cell


def count(path: str) -> Cell:
    """A cell that shows the number of items at a dotted path."""
    find = at(path, ())
    return lambda obj, now: len(find(obj, now))


def col(name: str, cell: Cell | str, doc: str = "", **rest: Any) -> Column:
    """Shorthand: a text instead of a function means the value at that path."""
    return Column(name=name, cell=at(cell) if isinstance(cell, str) else cell, doc=doc, **rest)


def wide(name: str, cell: Cell | str, doc: str = "", **rest: Any) -> Column:
    """A column that kubectl shows with `-o wide` only."""
    return col(name, cell, doc, priority=1, **rest)


def field(name: str, path: str, owner: str, default: Any = "", **rest: Any) -> Column:
    """A column that shows a field of the type `owner`, in the words of that field's documentation."""
    return col(name, at(path, default), f"{owner}.{path.rpartition('.')[2]}", **rest)


def number(name: str, path: str, owner: str, **rest: Any) -> Column:
    """A field that is a whole number, 0 where it is absent."""
    return field(name, path, owner, 0, type="integer", **rest)


NAME: Final = col("Name", "metadata.name", "meta.v1.ObjectMeta.name", format="name")
AGE: Final = col(
    "Age", lambda obj, now: since(obj["metadata"].get("creationTimestamp"), now), "meta.v1.ObjectMeta.creationTimestamp"
)
CREATED_AT: Final = col("Created At", "metadata.creationTimestamp", "meta.v1.ObjectMeta.creationTimestamp", type="date")


def table(*columns: Column, **rest: Any) -> TableSpec:
    """A table of the name and these columns."""
    return TableSpec((NAME, *columns), **rest)


PLAIN: Final = table(CREATED_AT, plain=True)
