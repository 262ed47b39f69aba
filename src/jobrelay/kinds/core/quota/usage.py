"""What the objects of a namespace use of a quota."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from jobrelay.apimachinery.quantity import Quantity
from jobrelay.kinds.core.quota.amounts import ZERO, add, count, only
from jobrelay.kinds.core.quota.check import in_scopes, scopes_of
from jobrelay.kinds.core.quota.evaluator import Evaluator, Fields
from jobrelay.kinds.core.quota.registry import evaluators_of

Read = Callable[[Evaluator], Sequence[Fields] | None]


def used_of(quota: Fields, read: Read, now: dt.datetime) -> dict[str, Quantity]:
    """What is used of each resource that a quota limits; `read` gives the objects, None for a kind that is not served.

    Resources that nothing can count are left out.
    """
    hard = quota["spec"].get("hard") or {}
    scopes = scopes_of(quota)
    total: dict[str, Quantity] = {}
    for evaluator in evaluators_of(hard):
        objects = read(evaluator)
        if objects is not None:
            limited = evaluator.matching(hard)
            total = add(total, dict.fromkeys(limited, ZERO))
            total = add(total, only(_sum(evaluator, objects, scopes, now), limited))
    return total


def _sum(
    evaluator: Evaluator, objects: Sequence[Fields], scopes: Sequence[Fields], now: dt.datetime
) -> dict[str, Quantity]:
    if evaluator.counts_only:
        return {} if scopes else {name: count(len(objects)) for name in evaluator.usage({}, now)}
    total: dict[str, Quantity] = {}
    for obj in objects:
        if in_scopes(evaluator, scopes, obj):
            total = add(total, evaluator.usage(obj, now))
    return total
