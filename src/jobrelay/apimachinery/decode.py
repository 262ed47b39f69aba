"""Decodes any JSON value to the canonical object of a built-in type, with Go's rules and error texts.

The real server decodes a body into a Go struct and writes the struct back. What clients see is therefore shaped by Go:
unknown fields vanish (and are named in warnings), null means absent, zero values with `omitempty` are dropped, structs
that are not pointers are always there, lists without `omitempty` show as null. `decode` does all of this in one walk. A
decoder is compiled per type on first use, a plan of its fields, so that a Job costs tens of microseconds.

Errors carry the path that Go prints: the innermost struct's name and the chain of JSON names, without indexes.
"""

from __future__ import annotations

import base64
import binascii
import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from jobrelay.apimachinery import quantity, times
from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.gojson import Float, Pairs, as_float, number_text, plain
from jobrelay.apimachinery.types import Field, Type

_LIMITS: Final = {"i32": 31, "i64": 63, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
MAX_STRICT_ERRORS: Final = 100
_TYPE_META: Final = ("kind", "apiVersion")
_BATCH: Final = "io.k8s.api.batch.v1."
_TELLS_EMPTY: Final = frozenset({  # validation distinguishes an empty list from none; the kind drops it before storing
    _BATCH + "PodFailurePolicy", _BATCH + "PodFailurePolicyOnExitCodesRequirement", _BATCH + "SuccessPolicy",
    "io.k8s.api.autoscaling.v2.HPAScalingRules",
})  # fmt: skip
_SELECTOR: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"  # errors show it without what is empty
Trail = tuple[Any, ...] | None  # linked list of (parent, step) where a step is a name or an index


class DecodeError(ValueError):
    """A value of the wrong type. `str()` is Go's message with the struct and the path filled in."""

    def __init__(self, what: str, go_type: str = "") -> None:
        super().__init__(what)
        self.what, self.go_type = what, go_type
        self.struct = ""
        self.path: list[str] = []

    def __str__(self) -> str:
        if not self.go_type:
            return self.what
        place = f"struct field {self.struct}.{'.'.join(reversed(self.path))}" if self.struct else "value"
        return f"json: cannot unmarshal {self.what} into Go {place} of type {self.go_type}"


class Notes:
    """What a strict reader would refuse: unknown and duplicate fields, in document order, each once.

    `emptied` and `dropped` are the lists and maps that were sent empty: those that show as null once they are stored,
    and those that are left out.
    """

    __slots__ = ("dropped", "emptied", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}
        self.emptied: list[tuple[dict[str, Any], str]] = []
        self.dropped: list[tuple[dict[str, Any], str, list[Any] | dict[str, Any]]] = []

    def settle(self) -> None:
        """Shows lists that were sent empty as null, which is how they come back from storage.

        Until field management has seen the object they stay as they were sent: an empty list is owned, null is not.
        """
        for holder, key in self.emptied:
            if not (value := holder.get(key)):
                if value is not None:
                    self.dropped.append((holder, key, value))
                holder[key] = None
        self.emptied.clear()

    def restore(self) -> None:
        """Puts lists and maps back that were sent empty and left out: errors show values as they were sent."""
        for holder, key, value in self.dropped:
            if holder.get(key) is None:
                holder[key] = value

    def unknown(self, trail: Trail, name: str) -> None:
        self.add(f"unknown field {go_quote(render((trail, name)))}")

    def repeated(self, trail: Trail, name: str) -> None:
        self.add(f"duplicate field {go_quote(render((trail, name)))}")

    def add(self, text: str) -> None:
        if len(self.texts) < MAX_STRICT_ERRORS:
            self.texts.setdefault(text)


def render(trail: Trail) -> str:
    steps: list[str] = []
    while trail is not None:
        trail, step = trail
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(steps)).lstrip(".")


Decoder = Callable[[Any, Trail, Notes], Any]
Entry = tuple[Decoder, bool, type | None]  # how to decode, whether zero is dropped, what is right as it is
_AS_IS: Final[dict[str, type]] = {"s": str, "b": bool}


def json_kind(value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"


def decode(value: Any, type_: Type, notes: Notes | None = None) -> Any:
    """The canonical form of a JSON value; raises DecodeError, and adds unknown fields to `notes`."""
    found = notes if notes is not None else Notes()
    try:
        made = decoder(type_)(value, None, found)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    if notes is None:
        found.settle()
    return made


def decoder(type_: Type) -> Decoder:
    return _compiled(type_.kind, type_.go, type_.name, type_.elem)


@functools.cache
def _compiled(kind: str, go: str, name: str, elem: Type | None) -> Decoder:
    if kind == "struct":
        return _Struct(Type(kind, go, name=name)).decode
    if kind == "list":
        assert elem is not None
        return _list(go, elem)
    if kind == "map":
        assert elem is not None
        return _map(go, elem)
    if kind in _LIMITS:
        return _integer(kind, go)
    if kind in _AS_IS:
        return _exactly(_AS_IS[kind], go)
    return {
        "f64": _float, "bytes": _bytes, "Time": _time, "MicroTime": _micro_time, "Duration": _duration,
        "Quantity": _quantity, "IntOrString": _int_or_string, "Raw": _raw, "Fields": _raw, "union": _union(name),
    }[kind](go)  # fmt: skip


def _go_numbers(value: Any) -> Any:
    """A JSON value whose numbers went through Go's float64: whole ones lose their fraction."""
    if isinstance(value, dict):
        return {key: _go_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_go_numbers(item) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = as_float(value)
        if math.isinf(number):
            raise DecodeError(f"number {number_text(value)}", "float64")
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return value
        return int(number) if number.is_integer() and abs(number) < 1e21 else number
    return value


def _union(name: str) -> Callable[[str], Decoder]:
    from jobrelay.apimachinery.types import type_of

    base = name.rpartition(".")[0]
    short = name.rpartition(".")[2]

    def make(go: str) -> Decoder:
        if short == "JSON":
            return lambda value, trail, notes: _go_numbers(plain(value))
        schema = type_of(f"{base}.JSONSchemaProps")

        def decode_union(value: Any, trail: Trail, notes: Notes) -> Any:
            if isinstance(value, (dict, Pairs)):
                return decode(value, schema)
            if short == "JSONSchemaPropsOrArray" and isinstance(value, list):
                return [decode(item, schema) for item in value]
            return plain(value)

        return decode_union

    return make


def zero(type_: Type) -> Any:
    """What a type's zero value shows as in JSON."""
    if type_.pointer or type_.kind in ("list", "map", "Time", "MicroTime", "bytes", "Raw", "Fields", "union"):
        return None
    if type_.kind == "struct":
        return decoder(type_)({}, None, Notes())
    return {"s": "", "b": False, "f64": 0, "Quantity": "0", "IntOrString": 0, "Duration": "0s"}.get(type_.kind, 0)


def _always(field: Field) -> bool:
    """Whether the field is written even when it is not set."""
    if not field.omitempty and not field.omitzero:
        return True
    shown_when_zero = field.type.kind in ("struct", "Time", "MicroTime", "IntOrString", "Quantity", "Duration", "Raw")
    return shown_when_zero and not field.type.pointer and not field.omitzero


def _drops_zero(field: Field) -> bool:
    return (
        field.omitempty and not field.type.pointer and field.type.kind not in ("struct", "IntOrString", "Raw", "union")
    )


class _StructPlan:
    """What decoding a struct comes down to, field by field."""

    __slots__ = ("always", "empty_lists", "fields", "finishes", "inlined", "tells_dropped", "zero_structs")

    def __init__(self, type_: Type) -> None:
        given = type_.fields.items()
        tells_empty = type_.name in _TELLS_EMPTY
        self.fields: dict[str, Entry] = {
            name: (
                decoder(f.type), _drops_zero(f) and not (tells_empty and f.type.kind == "list"), _AS_IS.get(f.type.kind)
            )
            for name, f in given
        }  # fmt: skip
        self.always = [(name, *_unset(f.type)) for name, f in given if _always(f)]
        self.empty_lists = [] if tells_empty else [name for name, f in given if _shows_empty_as_null(f)]
        self.tells_dropped = not type_.name.startswith(_SELECTOR)
        self.zero_structs = [name for name, f in given if f.omitzero and not f.type.pointer and f.type.kind == "struct"]
        self.inlined = {n: f.go for f in type_.declared if f.inline for n in f.type.fields if n not in _TYPE_META}
        self.finishes = bool(self.always or self.empty_lists or self.zero_structs)

    def finish(self, out: dict[str, Any], notes: Notes) -> dict[str, Any]:
        """Adds what is always written, and takes away what is not when it is zero."""
        for key, make, value in self.always:
            if key not in out:
                out[key] = value if make is None else make()
        for key in self.empty_lists:
            if out[key] is not None and not out[key]:
                notes.emptied.append((out, key))
        for key in self.zero_structs:
            if key in out and not out[key]:
                del out[key]
        return out


def _unset(type_: Type) -> tuple[Callable[[], Any] | None, Any]:
    """How a field is written that is not set: what makes its value, or a value that is shared. Only structs are made,
    since they may be changed; almost all of them hold nothing that could be."""
    value = zero(type_)
    if not isinstance(value, dict):
        return None, value
    nested = any(isinstance(item, (dict, list)) for item in value.values())
    return functools.partial(zero, type_) if nested else value.copy, None


def _shows_empty_as_null(field: Field) -> bool:
    return not field.omitempty and not field.type.pointer and field.type.kind in ("list", "map")


class _Struct:
    """Decodes structs of one type. The plan is made on first use, for types contain themselves."""

    __slots__ = ("_plan", "_type")

    def __init__(self, type_: Type) -> None:
        self._type = type_
        self._plan: _StructPlan | None = None

    def decode(self, value: Any, trail: Trail, notes: Notes) -> Any:
        plan = self._plan
        if plan is None:
            plan = self._plan = _StructPlan(self._type)
        out: dict[str, Any] = {}
        if type(value) is dict:
            self._decode_fields(plan, out, value.items(), trail, notes)
        elif type(value) is Pairs:
            self._decode_pairs(plan, out, value, trail, notes)
        else:
            raise DecodeError(json_kind(value), self._type.go)
        return plan.finish(out, notes) if plan.finishes else out

    def _decode_pairs(self, plan: _StructPlan, out: dict[str, Any], value: Pairs, trail: Trail, notes: Notes) -> None:
        seen: set[str] = set()
        for key, item in value.pairs:
            before = out.get(key)
            if key in seen and key in plan.fields:
                notes.repeated(trail, key)
            seen.add(key)
            self._decode_fields(plan, out, ((key, item),), trail, notes)
            if isinstance(before, dict) and isinstance(out[key], dict):
                out[key] = {**before, **out[key]}

    def _decode_fields(
        self, plan: _StructPlan, out: dict[str, Any], items: Iterable[tuple[str, Any]], trail: Trail, notes: Notes
    ) -> None:
        known = plan.fields
        for key, item in items:
            entry = known.get(key)
            if entry is None:
                notes.unknown(trail, key)
                continue
            if item is None:
                continue
            decode_item, drops_zero, as_is = entry
            if type(item) is as_is:
                if item or not drops_zero:
                    out[key] = item
                continue
            try:
                made = decode_item(item, (trail, key), notes)
            except DecodeError as error:
                error.path.append(key)
                if key in plan.inlined:
                    error.path.append(plan.inlined[key])
                error.struct = error.struct or self._type.go.rpartition(".")[2]
                raise
            if made or not drops_zero:
                out[key] = made
            elif type(made) in (list, dict) and plan.tells_dropped:
                notes.dropped.append((out, key, made))


def _list(go: str, elem: Type) -> Decoder:
    inner = None

    def decode_list(value: Any, trail: Trail, notes: Notes) -> Any:
        nonlocal inner
        if type(value) is not list:
            raise DecodeError(json_kind(value), go)
        make = inner = inner or decoder(elem)
        return [make(item, (trail, i), notes) if item is not None else zero(elem) for i, item in enumerate(value)]

    return decode_list


def _map(go: str, elem: Type) -> Decoder:
    inner = None

    def decode_map(value: Any, trail: Trail, notes: Notes) -> Any:
        nonlocal inner
        if type(value) is Pairs:
            seen: set[str] = set()
            for key, _ in value.pairs:
                if key in seen:
                    notes.repeated(trail, key)
                seen.add(key)
            value = plain(value)
        if type(value) is not dict:
            raise DecodeError(json_kind(value), go)
        if elem.kind == "s" and all(type(item) is str for item in value.values()):
            return dict(value)
        make = inner = inner or decoder(elem)
        empty = "" if elem.kind == "bytes" else zero(elem)
        return {key: make(item, (trail, key), notes) if item is not None else empty for key, item in value.items()}

    return decode_map


def _exactly(wanted: type, go: str) -> Decoder:
    def decode_exactly(value: Any, trail: Trail, notes: Notes) -> Any:
        if type(value) is not wanted:
            raise DecodeError(json_kind(value), go)
        return value

    return decode_exactly


def _integer(kind: str, go: str) -> Decoder:
    bits = _LIMITS[kind]
    low, high = (0, 2**bits - 1) if kind[0] == "u" else (-(2**bits), 2**bits - 1)

    def decode_integer(value: Any, trail: Trail, notes: Notes) -> Any:
        if type(value) is int and low <= value <= high:
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            raise DecodeError(f"number {value.text if isinstance(value, Float) else value}", go)
        raise DecodeError(json_kind(value), go)

    return decode_integer


def _float(go: str) -> Decoder:
    def decode_float(value: Any, trail: Trail, notes: Notes) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DecodeError(json_kind(value), go)
        number = as_float(value)
        if math.isinf(number):
            raise DecodeError(f"number {number_text(value)}", go)
        return int(value) if number.is_integer() else number

    return decode_float


def _bytes(go: str) -> Decoder:
    def decode_bytes(value: Any, trail: Trail, notes: Notes) -> Any:
        if type(value) is not str:
            raise DecodeError(json_kind(value), go)
        text = value.replace("\r", "").replace("\n", "")
        try:
            return base64.b64encode(base64.b64decode(text, validate=True)).decode()
        except (binascii.Error, ValueError):
            raise DecodeError(f"illegal base64 data at input byte {_bad_base64(text)}") from None

    return decode_bytes


_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _bad_base64(text: str) -> int:
    """The offset that Go's decoder names: the first bad byte, or the end of a cut-off quantum."""
    body = text.rstrip("=") if len(text) % 4 == 0 else text
    for position, char in enumerate(text):
        if char not in _BASE64 and not (char == "=" and position >= len(body)):
            return position
    return len(text) - len(text) % 4


def _parsed(parse: Callable[[str], str]) -> Callable[[str], Decoder]:
    def make(go: str) -> Decoder:
        def decode_parsed(value: Any, trail: Trail, notes: Notes) -> Any:
            if type(value) is not str:
                raise DecodeError(json_kind(value), "string")
            try:
                return parse(value)
            except times.TimeError as error:
                raise DecodeError(str(error)) from None

        return decode_parsed

    return make


_time = _parsed(times.canonical_time)
_micro_time = _parsed(times.canonical_micro_time)
_duration = _parsed(lambda text: times.format_duration(times.parse_duration(text)))


def _quantity(go: str) -> Decoder:
    def decode_quantity(value: Any, trail: Trail, notes: Notes) -> Any:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise DecodeError(quantity.FORMAT_WRONG)
        text = value.text if isinstance(value, Float) else str(value)
        try:
            return quantity.canonical(text.strip())
        except quantity.QuantityError as error:
            raise DecodeError(str(error)) from None

    return decode_quantity


def _int_or_string(go: str) -> Decoder:
    def decode_int_or_string(value: Any, trail: Trail, notes: Notes) -> Any:
        if type(value) is str or (type(value) is int and -(2**31) <= value < 2**31):
            return value
        what = json_kind(value)
        if what == "number":
            what += f" {value.text if isinstance(value, Float) else value}"
        raise DecodeError(what, "int32")

    return decode_int_or_string


def _raw(go: str) -> Decoder:
    return lambda value, trail, notes: _numbers(value)


def _numbers(value: Any) -> Any:
    """A JSON value with repeated keys merged, and with plain numbers."""
    if isinstance(value, Pairs):
        value = plain(value)
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, Float):
        if math.isinf(value):
            raise DecodeError(f"number {value.text}", "float64")
        return float(value)
    return value
