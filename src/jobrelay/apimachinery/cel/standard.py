"""CEL's own functions: operators, sizes, conversions, times, optionals."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import operator
import re
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jobrelay.apimachinery import times
from jobrelay.apimachinery.cel import values
from jobrelay.apimachinery.cel.functions import declare
from jobrelay.apimachinery.cel.values import (
    SECOND,
    CelError,
    CelOptional,
    Duration,
    JoinedList,
    Timestamp,
    TypeValue,
    Uint,
    checked_int,
    checked_uint,
    compare,
    equal,
    no_conversion,
)
from jobrelay.apimachinery.cron import LONGEST_ZONE
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.regex import RegexError, compile_go


def _add_int(a: int, b: int) -> int:
    return checked_int(a + b)


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise CelError("division by zero")
    return checked_int(int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b)))


def _modulo(a: int, b: int) -> int:
    if b == 0:
        raise CelError("modulus by zero")
    return a - b * (int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b)))


def _divide_float(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _moment(ns: int) -> Timestamp:
    if not -62135596800 * SECOND <= ns <= 253402300799 * SECOND + SECOND - 1:
        raise CelError("timestamp overflow")
    return Timestamp(ns)


def _span(ns: int) -> Duration:
    if not values.INT_MIN <= ns <= values.INT_MAX:
        raise CelError("duration overflow")
    return Duration(ns)


def _join_lists(a: Any, b: Any) -> Any:
    add = getattr(a, "joined", None)
    return add(b) if add is not None else JoinedList(a, b)


def _declare_arithmetic() -> None:
    declare("_+_", "(int, int) int", _add_int, "add_int64")
    declare("_+_", "(uint, uint) uint", lambda a, b: checked_uint(int(a) + int(b)), "add_uint64")
    declare("_+_", "(double, double) double", lambda a, b: a + b, "add_double")
    declare("_+_", "(string, string) string", lambda a, b: a + b, "add_string")
    declare("_+_", "(bytes, bytes) bytes", lambda a, b: a + b, "add_bytes")
    declare("_+_", "(list(A), list(A)) list(A)", _join_lists, "add_list")
    declare("_+_", "(timestamp, duration) timestamp", lambda a, b: _moment(a.ns + b.ns), "add_timestamp_duration")
    declare("_+_", "(duration, timestamp) timestamp", lambda a, b: _moment(a.ns + b.ns), "add_duration_timestamp")
    declare("_+_", "(duration, duration) duration", lambda a, b: _span(a.ns + b.ns), "add_duration_duration")
    declare("_-_", "(int, int) int", lambda a, b: checked_int(a - b))
    declare("_-_", "(uint, uint) uint", lambda a, b: checked_uint(int(a) - int(b)))
    declare("_-_", "(double, double) double", lambda a, b: a - b)
    declare("_-_", "(timestamp, timestamp) duration", lambda a, b: _span(a.ns - b.ns))
    declare("_-_", "(timestamp, duration) timestamp", lambda a, b: _moment(a.ns - b.ns))
    declare("_-_", "(duration, duration) duration", lambda a, b: _span(a.ns - b.ns))
    declare("_*_", "(int, int) int", lambda a, b: checked_int(a * b))
    declare("_*_", "(uint, uint) uint", lambda a, b: checked_uint(int(a) * int(b)))
    declare("_*_", "(double, double) double", lambda a, b: a * b)
    declare("_/_", "(int, int) int", _divide)
    declare("_/_", "(uint, uint) uint", lambda a, b: Uint(_divide(int(a), int(b))))
    declare("_/_", "(double, double) double", _divide_float)
    declare("_%_", "(int, int) int", _modulo)
    declare("_%_", "(uint, uint) uint", lambda a, b: Uint(_modulo(int(a), int(b))))
    declare("-_", "(int) int", lambda a: checked_int(-a))
    declare("-_", "(double) double", lambda a: -a)
    declare("!_", "(bool) bool", lambda a: not a)


def _declare_comparisons() -> None:
    declare("_==_", "(A, A) bool", equal, "equals")
    declare("_!=_", "(A, A) bool", lambda a, b: not equal(a, b), "not_equals")
    tests = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}
    for name, test in tests.items():

        def ordered(a: Any, b: Any, test: Any = test) -> bool:
            return bool(test(compare(a, b), 0))

        for kind in ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"):
            declare(name, f"({kind}, {kind}) bool", ordered, f"less_{kind}")
        for a, b in (
            ("int", "double"),
            ("int", "uint"),
            ("uint", "double"),
            ("uint", "int"),
            ("double", "int"),
            ("double", "uint"),
        ):
            declare(name, f"({a}, {b}) bool", ordered, f"less_{a}_{b}")
    declare("@in", "(A, list(A)) bool", lambda a, items: any(equal(a, item) for item in items), "in_list")
    declare("@in", "(A, map(A, B)) bool", _in_map, "in_map")


def _in_map(key: Any, found: Any) -> bool:
    return find_key(found, key) is not None


def find_key(found: Any, key: Any) -> tuple[Any] | None:
    """The key as the map has it, in a tuple, or None: numbers are found by value."""
    if isinstance(key, (list, dict)) or (
        not isinstance(key, str) and not values.is_number(key) and not isinstance(key, bool)
    ):
        return None
    if isinstance(key, float) and not key.is_integer():
        return None
    if isinstance(key, (bool, str)):
        return (key,) if key in found and any(type(k) is type(key) for k in found) else None
    return (key,) if key in found and any(values.is_number(k) for k in found) else None


def index_list(items: Any, index: Any) -> Any:
    at = int(index)
    if float(index) != at or not 0 <= at < len(items):
        raise CelError(f"index out of bounds: {_shown(index)}")
    return items[at]


def index_map(found: Any, key: Any) -> Any:
    present = find_key(found, key)
    if present is None:
        raise CelError(f"no such key: {_shown(key)}")
    return found[present[0]]


def _shown(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _optional_index(target: Any, key: Any) -> CelOptional:
    if isinstance(target, CelOptional):
        return _optional_index(target.value, key) if target.present else CelOptional()
    try:
        found = index_list(target, key) if values.kind_of(target) == "list" else index_map(target, key)
    except CelError:
        return CelOptional()
    return CelOptional(found, present=True)


def _declare_access() -> None:
    declare("_[_]", "(list(A), int) A", index_list, "index_list")
    declare("_[_]", "(map(A, B), A) B", index_map, "index_map")
    declare("_[_]", "(optional(list(A)), int) optional(A)", _optional_index, "optional_list_index")
    declare("_[_]", "(optional(map(A, B)), A) optional(B)", _optional_index, "optional_map_index")
    declare("_[?_]", "(list(A), int) optional(A)", _optional_index, "list_optindex")
    declare("_[?_]", "(map(A, B), A) optional(B)", _optional_index, "map_optindex")
    declare("_[?_]", "(optional(list(A)), int) optional(A)", _optional_index, "optional_list_optindex")
    declare("_[?_]", "(optional(map(A, B)), A) optional(B)", _optional_index, "optional_map_optindex")
    for kind in ("string", "bytes", "list(A)", "map(A, B)"):
        declare("size", f"({kind}) int", len, f"size_{kind.partition('(')[0]}")
        declare("size", f"{kind}.() int", len, f"{kind.partition('(')[0]}_size")


def to_int(value: float) -> int:
    if math.isnan(value) or not -(2.0**63) < value < 2.0**63:
        raise CelError("integer overflow")
    return int(value)


def _text_to_int(text: str) -> int:
    if re.fullmatch(r"[+-]?\d+", text, re.ASCII) is None or not values.INT_MIN <= read_int(text) <= values.INT_MAX:
        raise no_conversion(text, "int")
    return read_int(text)


def _text_to_uint(text: str) -> Uint:
    if re.fullmatch(r"\d+", text, re.ASCII) is None or read_int(text) >= 2**64:
        raise no_conversion(text, "uint")
    return Uint(read_int(text))


def _text_to_double(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise no_conversion(text, "double") from None


def double_text(value: float) -> str:
    """A float as CEL's string() writes it: Go's shortest 'g' form."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    sign, digits, power = decimal.Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(power, int)
    first, *rest = map(str, digits)
    power += len(rest)
    mantissa = f"{'-' if sign else ''}{first}{'.' if rest else ''}{''.join(rest)}"
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def parse_timestamp(text: str) -> Timestamp:
    try:
        moment = times.parse_time(text)
    except times.TimeError:
        raise no_conversion(text, "timestamp") from None
    match = re.search(r"\.(\d+)", text)
    fraction = int(match.group(1)[:9].ljust(9, "0")) if match else 0
    whole = moment.replace(microsecond=0) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return _moment((whole.days * 86400 + whole.seconds) * SECOND + fraction)


def parse_duration(text: str) -> Duration:
    try:
        return Duration(times.parse_duration(text))
    except times.TimeError:
        raise no_conversion(text, "duration") from None


def duration_text(value: Duration) -> str:
    seconds, rest = divmod(abs(value.ns), SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if value.ns < 0 else ''}{seconds}{fraction}s"


def _declare_conversions() -> None:
    declare("int", "(int) int", lambda a: a)
    declare("int", "(uint) int", lambda a: checked_int(int(a)))
    declare("int", "(double) int", to_int)
    declare("int", "(string) int", _text_to_int)
    declare("int", "(timestamp) int", lambda a: a.ns // SECOND)
    declare("int", "(duration) int", lambda a: a.ns)
    declare("uint", "(uint) uint", lambda a: a)
    declare("uint", "(int) uint", checked_uint)
    declare("uint", "(double) uint", lambda a: checked_uint(to_int(a)))
    declare("uint", "(string) uint", _text_to_uint)
    for kind in ("double", "int", "uint"):
        declare("double", f"({kind}) double", float)
    declare("double", "(string) double", _text_to_double)
    declare("string", "(string) string", lambda a: a, "string_to_string")
    declare("string", "(bool) string", lambda a: "true" if a else "false", "bool_to_string")
    declare("string", "(bytes) string", _bytes_text, "bytes_to_string")
    declare("string", "(double) string", double_text, "double_to_string")
    declare("string", "(int) string", str, "int64_to_string")
    declare("string", "(uint) string", lambda a: str(int(a)), "uint64_to_string")
    declare("string", "(timestamp) string", str, "timestamp_to_string")
    declare("string", "(duration) string", duration_text, "duration_to_string")
    declare("bytes", "(bytes) bytes", lambda a: a)
    declare("bytes", "(string) bytes", lambda a: a.encode())
    declare("bool", "(bool) bool", lambda a: a)
    declare("bool", "(string) bool", _text_to_bool)
    declare("timestamp", "(timestamp) timestamp", lambda a: a)
    declare("timestamp", "(string) timestamp", parse_timestamp)
    declare("timestamp", "(int) timestamp", lambda a: _moment(a * SECOND))
    declare("duration", "(duration) duration", lambda a: a)
    declare("duration", "(string) duration", parse_duration)
    declare("duration", "(int) duration", Duration)
    declare("dyn", "(A) dyn", lambda a: a)
    declare("type", "(A) type(A)", lambda a: TypeValue(values.type_name(a)))


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def _text_to_bool(text: str) -> bool:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise no_conversion(text, "bool")


def matches(text: str, pattern: str) -> bool:
    try:
        return compile_go(pattern).search(text) is not None
    except RegexError as error:
        raise CelError(str(error)) from None


def _declare_texts() -> None:
    declare("contains", "string.(string) bool", lambda a, b: b in a, "contains_string")
    declare("endsWith", "string.(string) bool", lambda a, b: a.endswith(b), "ends_with_string")
    declare("startsWith", "string.(string) bool", lambda a, b: a.startswith(b), "starts_with_string")
    declare("matches", "string.(string) bool", matches, "matches_string")
    declare("matches", "(string, string) bool", matches, "matches")


def _zone(name: str) -> dt.tzinfo:
    match = re.fullmatch(r"([+-]?)(\d{2}):(\d{2})", name)
    if len(name) > LONGEST_ZONE:
        raise CelError(f"unknown time zone {name}")
    try:
        if match:
            offset = dt.timedelta(hours=int(match.group(2)), minutes=int(match.group(3)))
            return dt.timezone(-offset if match.group(1) == "-" else offset)
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise CelError(f"unknown time zone {name}") from None


def _declare_times() -> None:
    parts = {
        "getFullYear": lambda m: m.year, "getMonth": lambda m: m.month - 1, "getDate": lambda m: m.day,
        "getDayOfMonth": lambda m: m.day - 1, "getDayOfWeek": lambda m: m.isoweekday() % 7,
        "getDayOfYear": lambda m: m.timetuple().tm_yday - 1, "getHours": lambda m: m.hour,
        "getMinutes": lambda m: m.minute,
        "getSeconds": lambda m: m.second, "getMilliseconds": lambda m: m.microsecond // 1000,
    }  # fmt: skip
    for name, part in parts.items():
        declare(name, "timestamp.() int", lambda value, part=part: part(value.moment()))
        declare(name, "timestamp.(string) int", lambda value, zone, part=part: part(value.moment(_zone(zone))))
    spans = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND}
    for name, unit in spans.items():
        declare(name, "duration.() int", lambda value, unit=unit: int(value.ns / unit))
    declare("getMilliseconds", "duration.() int", lambda value: int(value.ns / 10**6))


def _optional_value(optional: CelOptional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _is_zero(value: Any) -> bool:
    if isinstance(value, (Timestamp, Duration)):
        return value.ns == 0
    return not value if not hasattr(value, "__len__") else len(value) == 0


def _declare_optionals() -> None:
    declare("optional.of", "(A) optional(A)", lambda a: CelOptional(a, present=True))
    declare(
        "optional.ofNonZeroValue",
        "(A) optional(A)",
        lambda a: CelOptional() if _is_zero(a) else CelOptional(a, present=True),
    )
    declare("optional.none", "() optional(A)", CelOptional)
    declare("optional.unwrap", "(list(optional(A))) list(A)", lambda items: [o.value for o in items if o.present])
    declare("unwrapOpt", "list(optional(A)).() list(A)", lambda items: [o.value for o in items if o.present])
    declare("value", "optional(A).() A", _optional_value)
    declare("hasValue", "optional(A).() bool", lambda optional: optional.present)
    declare(
        "or", "optional(A).(optional(A)) optional(A)", lambda optional, other: optional if optional.present else other
    )
    declare("orValue", "optional(A).(A) A", lambda optional, other: optional.value if optional.present else other)


def declare_functions() -> None:
    _declare_arithmetic()
    _declare_comparisons()
    _declare_access()
    _declare_conversions()
    _declare_texts()
    _declare_times()
    _declare_optionals()
