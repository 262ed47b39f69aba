"""Tables of custom resources, from a CRD's additionalPrinterColumns.

Each column is a JSONPath; the first thing that it finds is the cell. Text columns print whatever they find, the other
types show a value only when it is of that type. What is missing, or stops the evaluation, is a null cell.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, Final

from jobrelay.apimachinery import jsonpath
from jobrelay.apimachinery.field import go_value
from jobrelay.kinds.tables.ages import since
from jobrelay.kinds.tables.columns import NAME, Cell, Column, Obj, TableSpec, field_text, table

_AGE_COLUMN: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_EXPONENT_FROM: Final = 6
_PATH_TEXT: Final = "Custom resource definition column (in JSONPath format): "


def crd_table(columns: list[dict[str, Any]] | None) -> TableSpec:
    """The table for a version's printer columns; without any it shows the age."""
    if not columns:
        age = {**_AGE_COLUMN, "description": field_text("meta.v1.ObjectMeta.creationTimestamp")}
        return table(_column(age))
    layout = [NAME]
    for column in columns:
        try:
            layout.append(_column(column))
        except jsonpath.JsonPathError:
            break
    return TableSpec(tuple(layout))


def _column(column: dict[str, Any]) -> Column:
    path = jsonpath.parse(column["jsonPath"])
    return Column(
        name=column["name"],
        cell=_cell(path, column["type"]),
        text=column.get("description") or _PATH_TEXT + column["jsonPath"],
        type=column["type"],
        format=column.get("format", ""),
        priority=column.get("priority", 0),
    )


def _cell(path: jsonpath.JsonPath, kind: str) -> Cell:
    def cell(obj: Obj, now: dt.datetime) -> Any:
        try:
            found = path.find(obj)
        except jsonpath.JsonPathError:
            return None
        return _shown(found[0], kind, now) if found else None

    return cell


def _shown(value: Any, kind: str, now: dt.datetime) -> Any:
    if kind == "string":
        return text_of(value)
    if kind == "date":
        return since(value or None, now) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if kind == "integer":
        return int(value) if abs(value) < 2**63 else -(2**63)
    return value if kind == "number" else None


def text_of(value: Any) -> str:
    """A value as Go prints it: objects and lists as JSON, the rest plainly."""
    if value is None:
        return "<no value>"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _float_text(value)
    return go_value(value)


def _float_text(value: float) -> str:
    """Go's %v: the shortest digits, with an exponent from a million up and below 0.0001."""
    sign, digits, power = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(power, int)
    exponent = len(digits) + power - 1
    if -4 <= exponent < _EXPONENT_FROM:
        return format(Decimal(repr(value)).normalize(), "f")
    text = "".join(map(str, digits))
    mantissa = f"{text[0]}.{text[1:]}" if len(text) > 1 else text
    return f"{'-' if sign else ''}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
