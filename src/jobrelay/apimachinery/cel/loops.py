"""Macros that loop over a list or a map, and the two that look into an optional value.

The Go engine unfolds a macro into a loop with an accumulator, and charges each part of it; the numbers here are the
sums of these parts. It goes on after an error in a round, unless the quantifier is decided, and so does this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from jobrelay.apimachinery.cel.runtimecost import LIST, sorted_by
from jobrelay.apimachinery.cel.standard import find_key
from jobrelay.apimachinery.cel.steps import CALL_LIMIT, CostExceeded, EvalStep, Frame, as_bool, charge, constant
from jobrelay.apimachinery.cel.texts import sort_by
from jobrelay.apimachinery.cel.values import CelError, CelOptional, kind_of, no_overload

Make = Callable[[EvalStep, list[int], list[EvalStep]], EvalStep]
_CHECKED: Final = 64  # rounds
_APPEND: Final = LIST + 2  # read the accumulator, make a list of one, add the two


def _items(source: EvalStep, frame: Frame, count: int, result_cost: int) -> Any:
    """What the loop variables are in turn: values, or pairs for two variables."""
    try:
        value = source.run(frame)
        kind = kind_of(value)
        if kind == "list":
            return value if count == 1 else list(enumerate(value))
        if kind == "map":
            return list(value) if count == 1 else list(value.items())
        shown = f"types.{kind.capitalize()}"
        raise CelError(
            f"got '{shown}', expected iterable type" if count == 1 else f"unsupported comprehension range type: {shown}"
        )
    except CelError:
        frame[0] -= result_cost
        raise


def _rounds(items: Any, slots: list[int], cost: int, frame: Frame) -> Iterator[Any]:
    """Sets the loop variables and charges the round, for each in turn."""
    first, second = slots[0], slots[-1]
    single = len(slots) == 1
    interrupt = frame[1]
    for at, found in enumerate(items):
        if interrupt is not None and not at % _CHECKED:
            interrupt()
        if single:
            frame[first] = found
        else:
            frame[first], frame[second] = found
        frame[0] += cost
        if frame[0] > CALL_LIMIT:
            raise CostExceeded
        yield found


def _quantifier(decides: bool, condition: int) -> Make:
    """`exists` is decided by a true, `all` by a false; errors count only when nothing decides.

    Each round costs a look at the condition and at the accumulator; so does the look that ends the loop early.
    """

    def make(source: EvalStep, slots: list[int], args: list[EvalStep]) -> EvalStep:
        test, cost = args[0].run, condition + 1 + args[0].cost

        def run(frame: Frame) -> bool:
            failure: CelError | None = None
            items = _items(source, frame, len(slots), 1)
            left = len(items)
            for _ in _rounds(items, slots, cost, frame):
                left -= 1
                try:
                    if as_bool(test(frame)) is decides:
                        frame[0] += condition if left else 0
                        return decides
                except CelError as error:
                    failure = failure or error
            if failure is not None:
                raise failure
            return not decides

        return EvalStep(run, source.cost + 1)

    return make


def _exists_one(source: EvalStep, slots: list[int], args: list[EvalStep]) -> EvalStep:
    """Adding 1 costs 2, and the comparison at the end 2."""
    test, cost = args[0].run, args[0].cost

    def run(frame: Frame) -> bool:
        failure: CelError | None = None
        found = 0
        for _ in _rounds(_items(source, frame, len(slots), 2), slots, cost, frame):
            try:
                if as_bool(test(frame)):
                    found += 1
                    frame[0] += 2
            except CelError as error:
                failure = error
        if failure is not None:
            raise failure
        return found == 1

    return EvalStep(run, source.cost + 2)


def _collection(
    source: EvalStep,
    slots: list[int],
    args: list[EvalStep],
    *,
    accepted: int,
    after_error: int,
    start: Callable[[], Any],
    add: Callable[[Any, Any, Any], None],
) -> EvalStep:
    """A loop that makes a list or map of the last argument, in rounds that the first of two arguments lets through.

    `accepted` is what adding costs beside the arguments. A round after an error costs `after_error` instead, and
    evaluates nothing, where the function that adds stops at errors; it is -1 where it does not.
    """
    body, added = args[-1].run, accepted + args[-1].cost
    test = args[0].run if len(args) == 2 else None
    cost = args[0].cost if test is not None else added

    def run(frame: Frame) -> Any:
        made, failure = start(), None
        for found in _rounds(_items(source, frame, len(slots), 1), slots, 0, frame):
            try:
                if test is not None:
                    charge(frame, cost)
                    if not as_bool(test(frame)):
                        continue
            except CelError as error:
                failure = error
                continue
            if failure is not None and after_error >= 0:
                frame[0] += after_error
                continue
            charge(frame, added)
            try:
                add(made, found, body(frame))
            except CelError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return made

    return EvalStep(run, source.cost + 1)


def _append(made: list[Any], found: Any, value: Any) -> None:
    made.append(value)


def _filter(source: EvalStep, slots: list[int], args: list[EvalStep]) -> EvalStep:
    slot = slots[0]
    kept = EvalStep(lambda frame: frame[slot], 1)
    return _collection(source, slots, [args[0], kept], accepted=_APPEND, after_error=-1, start=list, add=_append)


def _map(source: EvalStep, slots: list[int], args: list[EvalStep]) -> EvalStep:
    accepted = 2 if args[-1].constant else _APPEND
    return _collection(source, slots, args, accepted=accepted, after_error=-1, start=list, add=_append)


def _insert(made: dict[Any, Any], found: Any, value: Any) -> None:
    made[found[0]] = value


def _transform_map(source: EvalStep, slots: list[int], args: list[EvalStep]) -> EvalStep:
    return _collection(source, slots, args, accepted=3, after_error=1, start=dict, add=_insert)


def _merge(made: dict[Any, Any], found: Any, value: Any) -> None:
    for key, item in value.items():
        if find_key(made, key) is not None:
            raise CelError(f"insert failed: key {key} already exists")
        made[key] = item


def _transform_entries(source: EvalStep, slots: list[int], args: list[EvalStep]) -> EvalStep:
    return _collection(source, slots, args, accepted=2, after_error=-1, start=dict, add=_merge)


def _sort_by(source: EvalStep, slots: list[int], args: list[EvalStep]) -> EvalStep:
    """A loop for the keys and a sort by them; each of the two reads the list, which is evaluated once."""

    def run(frame: Frame) -> Any:
        items = source.run(frame)
        keys = _map(constant(items), slots, args).run(frame)
        charge(frame, sorted_by(keys))
        return sort_by(items, keys)

    return EvalStep(run, source.cost + 3)


def optional_map(source: EvalStep, slot: int, pending: int, body: EvalStep, *, wrap: bool) -> EvalStep:
    """`optMap` and `optFlatMap`: what the value costs is charged a second time, when the variable is first read.

    `pending` is where the frame has this cost until then.
    """
    wrapping = int(wrap)

    def run(frame: Frame) -> Any:
        before = frame[0]
        value = source.run(frame)
        if not isinstance(value, CelOptional):
            raise no_overload("hasValue", value)
        if not value.present:
            frame[0] += 1
            return CelOptional()
        frame[pending] = source.cost + frame[0] - before + 1
        frame[slot] = value.value
        charge(frame, body.cost + wrapping)
        made = body.run(frame)
        return CelOptional(made, present=True) if wrap else made

    return EvalStep(run, source.cost + 1)


LOOPS: Final[dict[str, Make]] = {
    "all": _quantifier(False, 2), "exists": _quantifier(True, 3), "exists_one": _exists_one, "existsOne": _exists_one,
    "filter": _filter, "map": _map, "transformList": _map, "transformMap": _transform_map,
    "transformMapEntry": _transform_entries, "sortBy": _sort_by,
}  # fmt: skip
