"""Access to fields and items: a variable or another value, and a chain of qualifiers (`.field`, `[index]`, `.?field`).

A chain is one step. Each qualifier costs 1, and so does the value that the chain starts with, except where the chain is
a branch of `?:` or an index itself. After an error no further qualifier is charged; after an optional one that finds
nothing neither, nor that one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.cel.standard import index_list, index_map
from jobrelay.apimachinery.cel.steps import Eval, EvalStep, Frame
from jobrelay.apimachinery.cel.values import CelError, CelOptional, kind_of, type_name

_LIST_INDEX: Final = "unsupported index type 'string' in list"
Apply = Callable[[Any, Any], Any]


class Qualifier(NamedTuple):
    """One access: `apply(value, key)`, its key as a step, and whether nothing may be found."""

    apply: Apply
    key: EvalStep
    optional: bool = False

    @property
    def cost(self) -> int:
        return self.key.cost + 1


def get_field(value: Any, field: str) -> Any:
    """`value.field`."""
    kind = kind_of(value)
    if kind == "list":
        raise CelError(_LIST_INDEX)
    try:
        if kind != "map":
            raise KeyError(field)
        return value[field]
    except KeyError:
        raise CelError(f"no such key: {field}") from None


def has_field(value: Any, field: str) -> bool:
    """`has(value.field)`."""
    kind = kind_of(value)
    if kind == "list":
        raise CelError(_LIST_INDEX)
    return kind == "map" and field in value


def get_item(value: Any, key: Any) -> Any:
    """`value[key]`."""
    if kind_of(value) != "list":
        return index_map(value if kind_of(value) == "map" else {}, key)
    if isinstance(key, (int, float)) and not isinstance(key, bool):
        return index_list(value, key)
    raise CelError(f"unsupported index type '{type_name(key)}' in list")


def chain(base: EvalStep, qualifiers: list[Qualifier], *, may_be_optional: bool) -> EvalStep:
    """The step that evaluates a value and applies the qualifiers in turn."""
    rests = [sum(later.cost for later in qualifiers[at + 1 :]) for at in range(len(qualifiers))]
    links = list(zip(qualifiers, rests, strict=True))
    total = sum(qualifier.cost for qualifier in qualifiers)
    if may_be_optional or any(qualifier.optional for qualifier in qualifiers):
        run = _optional_chain(base.run, links, total)
    elif len(links) == 1 and base.slot and qualifiers[0].key.constant:
        run = _variable_access(base.slot, qualifiers[0].apply, qualifiers[0].key.run([0]))
    else:
        run = _plain_chain(base.run, links, total)
    return EvalStep(run, base.cost + total)


def _start(base: Eval, frame: Frame, total: int) -> Any:
    try:
        return base(frame)
    except CelError:
        frame[0] -= total
        raise


def _variable_access(slot: int, apply: Apply, key: Any) -> Eval:
    return lambda frame: apply(frame[slot], key)


def _plain_chain(base: Eval, links: list[tuple[Qualifier, int]], total: int) -> Eval:
    flat = [(qualifier.apply, qualifier.key.run, rest) for qualifier, rest in links]

    def run(frame: Frame) -> Any:
        value = _start(base, frame, total)
        for apply, key, rest in flat:
            try:
                value = apply(value, key(frame))
            except CelError:
                frame[0] -= rest
                raise
        return value

    return run


def _optional_chain(base: Eval, links: list[tuple[Qualifier, int]], total: int) -> Eval:
    tested = links[-1][0].apply is has_field

    def run(frame: Frame) -> Any:
        value = _start(base, frame, total)
        optional = isinstance(value, CelOptional)
        if optional and not value.present:
            frame[0] -= total
            return False if tested else value
        value = value.value if optional else value
        for qualifier, rest in links:
            optional = optional or qualifier.optional
            try:
                found = _qualify(qualifier, value, qualifier.key.run(frame), optional=optional)
            except CelError:
                frame[0] -= rest + optional
                raise
            if found is None:
                frame[0] -= rest + 1
                return False if tested else CelOptional()
            value = found[0]
        return CelOptional(value, present=True) if optional and not tested else value

    return run


def _qualify(qualifier: Qualifier, value: Any, key: Any, *, optional: bool) -> tuple[Any] | None:
    """What a qualifier finds, in a tuple; None when it is optional and there is nothing."""
    if not optional:
        return (qualifier.apply(value, key),)
    if qualifier.apply is not get_item:
        return (qualifier.apply(value, key),) if has_field(value, key) else None
    try:
        return (get_item(value, key),)
    except CelError:
        return None
