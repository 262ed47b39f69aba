"""Evaluates the predicates of a description about an object."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobrelay.workloads.declared import paths
from jobrelay.workloads.declared.description import OneOrMore, Predicate, Rule, many


def matching(rule: Rule, obj: Mapping[str, Any]) -> Predicate | None:
    """The first predicate of a rule that holds; None if none does."""
    for each in (rule,) if isinstance(rule, Predicate) else rule:
        if _holds(each, obj):
            return each
    return None


def holds(rule: Rule, obj: Mapping[str, Any]) -> bool:
    """Whether a rule holds; one without predicates never does."""
    return matching(rule, obj) is not None


def condition(type_: str, obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """A condition of the status; empty if there is none. Where a type repeats, the true one counts."""
    given = paths.first("status.conditions", obj)
    listed = given if isinstance(given, list) else ()
    alike = [one for one in listed if isinstance(one, dict) and one.get("type") == type_]
    return next((one for one in alike if one.get("status") == "True"), alike[0] if alike else {})


def text(given: OneOrMore, obj: Mapping[str, Any]) -> str:
    """The first text at one of these paths; empty if there is none."""
    for path in many(given):
        for value in paths.values(path, obj):
            if isinstance(value, str) and value:
                return value
    return ""


def time(given: OneOrMore, obj: Mapping[str, Any]) -> datetime | None:
    """The first time at one of these paths."""
    return parse_time(text(given, obj))


def parse_time(written: object) -> datetime | None:
    """A time of the API; None for what is none."""
    try:
        found = datetime.fromisoformat(written) if isinstance(written, str) and written else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def count(given: OneOrMore, obj: Mapping[str, Any]) -> int:
    """The sum of the numbers at these paths."""
    found = (value for path in many(given) for value in paths.values(path, obj))
    return sum(value for value in found if isinstance(value, int) and not isinstance(value, bool))


def _holds(predicate: Predicate, obj: Mapping[str, Any]) -> bool:
    if predicate.condition:
        found = condition(predicate.condition, obj).get("status") == predicate.status
    else:
        found = _compares(predicate, paths.values(predicate.path, obj) or [""])
    if not found or (predicate.and_ is not None and not _holds(predicate.and_, obj)):
        return False
    return predicate.unless is None or not _holds(predicate.unless, obj)


def _compares(predicate: Predicate, found: list[Any]) -> bool:
    if predicate.in_ is not None:
        return any(value in predicate.in_ for value in found)
    if predicate.not_in is not None:
        return any(value not in predicate.not_in for value in found)
    return any(found)
