"""Whether a write fits the quotas of its namespace, and what they are charged for it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from jobrelay.apimachinery.quantity import Quantity
from jobrelay.kinds.core.quota.amounts import Amounts, add, as_texts, growth, listed, only, parsed
from jobrelay.kinds.core.quota.evaluator import Evaluator, Fields


class QuotaRefused(Exception):
    """A write that does not fit; its text is the part after `is forbidden: `."""


class QuotaWrite(NamedTuple):
    """A write as quotas see it. `old` is empty for a create."""

    operation: str
    subresource: str
    new: Fields
    old: Fields


class Charge(NamedTuple):
    """The quota that is charged, and what is used of it then."""

    quota: dict[str, Any]
    used: dict[str, str]


def scopes_of(quota: Fields) -> list[Fields]:
    """The scopes of a quota as requirements: an object must be in all of them."""
    spec = quota["spec"]
    plain: list[Fields] = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return plain + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def in_scopes(evaluator: Evaluator, scopes: Iterable[Fields], obj: Fields) -> bool:
    return all(evaluator.in_scope(scope, obj) for scope in scopes)


def check(quotas: Sequence[dict[str, Any]], evaluator: Evaluator, write: QuotaWrite, now: dt.datetime) -> list[Charge]:
    """What the write costs; raises QuotaRefused for the first quota that it does not fit."""
    matching = [quota for quota in quotas if _applies(quota, evaluator, write.new)]
    for quota in matching:
        _require(quota, evaluator, write.new)
    if not matching:
        return []
    usage = evaluator.usage(write.new, now)
    if negative := sorted(name for name, amount in usage.items() if amount.value < 0):
        raise QuotaRefused(f"quota usage is negative for resource(s): {','.join(negative)}")
    before = evaluator.usage(write.old, now) if write.old else {}
    charges = []
    for quota in matching:
        counted = bool(write.old) and in_scopes(evaluator, scopes_of(quota), write.old)
        more = growth(usage, before if counted else {})
        if asked := only(more, quota["status"]["hard"]):
            charges.append(Charge(quota, _charged(quota, asked, enforce=write.subresource != "status")))
    return charges


def _applies(quota: Fields, evaluator: Evaluator, obj: Fields) -> bool:
    hard = (quota.get("status") or {}).get("hard") or ()
    return bool(evaluator.matching(hard)) and in_scopes(evaluator, scopes_of(quota), obj)


def _require(quota: Fields, evaluator: Evaluator, obj: Fields) -> None:
    """An object must name what the quota limits, and it must be known how much of that is used."""
    name, status = quota["metadata"]["name"], quota["status"]
    limited = evaluator.matching(status["hard"])
    if why := evaluator.missing(limited, obj):
        raise QuotaRefused(f"failed quota: {name}: {why}")
    if limited - (status.get("used") or {}).keys():
        raise QuotaRefused(f"status unknown for quota: {name}, resources: {','.join(sorted(limited))}")


def _charged(quota: Fields, asked: Amounts, *, enforce: bool) -> dict[str, str]:
    hard, used = parsed(quota["status"]["hard"]), parsed(quota["status"].get("used"))
    total = add(used, asked)
    if enforce and (exceeded := {name for name in asked if total[name].value > hard[name].value}):
        raise QuotaRefused(_exceeded(quota["metadata"]["name"], exceeded, asked, used, hard))
    return as_texts(total)


def _exceeded(name: str, names: set[str], asked: Amounts, used: dict[str, Quantity], hard: Amounts) -> str:
    parts = {"requested": asked, "used": used, "limited": hard}
    shown = ", ".join(f"{word}: {listed(only(amounts, names))}" for word, amounts in parts.items())
    return f"exceeded quota: {name}, {shown}"
