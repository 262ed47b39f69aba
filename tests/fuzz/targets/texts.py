"""Short texts in queries, headers and fields: selectors, quantities, times, schedules, paths, expressions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery import cron, jsonpath, quantity, selectors, times
from jobrelay.apimachinery.cel.checker import CompileError, compile_expression
from jobrelay.apimachinery.cel.cost import estimate
from jobrelay.apimachinery.cel.program import CostExceeded, build
from jobrelay.apimachinery.cel.types import DYN, INT, STRING, CelType, list_of, map_of
from jobrelay.apimachinery.cel.values import CelError
from jobrelay.apimachinery.formats import FORMATS
from jobrelay.cluster.node.script import parse_script

from ..target import Check, Target, plain

_LABELS: Final = {"a": "b", "n": "5", "x.example.com/y": "", "in": "notin"}
_NOW: Final = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
_OBJECT: Final = {
    "metadata": {"name": "x", "labels": _LABELS},
    "items": [{"type": "Ready", "n": 1}, {"type": "b", "n": 2.5}, None, [1, 2], "text", True],
}  # fmt: skip
_VARIABLES: Final[dict[str, CelType]] = {
    "self": DYN, "n": INT, "s": STRING, "words": list_of(STRING), "map": map_of(STRING, INT),
}  # fmt: skip
_VALUES: Final[dict[str, Any]] = {
    "self": {"a": 1, "list": [3, 1, 2], "text": "10Mi", "when": "2024-01-01T00:00:00Z"},
    "n": 7, "s": "héllo", "words": ["a", "b", "a"], "map": {"k": 1},
}  # fmt: skip


def of_text(check: Callable[[str], object]) -> Check:
    """A check of text; bytes that are no UTF-8 reach it as the server would read them."""
    return lambda data: check(data.decode("utf-8", "replace"))


def _label_selector(text: str) -> None:
    selector = selectors.parse_label_selector(text)
    again = selectors.parse_label_selector(str(selector))
    assert (str(again), again.matches(_LABELS)) == (str(selector), selector.matches(_LABELS))


def _quantity(text: str) -> None:
    canonical = quantity.canonical(text)
    assert quantity.canonical(canonical) == canonical
    assert quantity.number(canonical) == quantity.number(text)


def _duration(text: str) -> None:
    nanoseconds = times.parse_duration(text)
    assert abs(times.parse_duration(times.format_duration(nanoseconds)) - nanoseconds) <= abs(nanoseconds) >> 50


def _time(text: str) -> None:
    canonical = times.canonical_time(text)
    assert times.canonical_time(canonical) == canonical
    assert times.parse_time(canonical) == times.parse_time(text).replace(microsecond=0)


def _micro_time(text: str) -> None:
    canonical = times.canonical_micro_time(text)
    assert times.canonical_micro_time(canonical) == canonical


def _schedule(text: str) -> None:
    schedule = cron.parse_schedule(text)
    due = schedule.next(_NOW)
    assert due is None or due > _NOW


def _jsonpath(text: str) -> None:
    jsonpath.parse(text).find(_OBJECT)


def _cel(text: str) -> None:
    checked = compile_expression(text, _VARIABLES)
    assert estimate(checked, _VARIABLES) >= 0
    build(checked)(_VALUES)


def _formats(text: str) -> None:
    for name, accepts in FORMATS.items():
        assert accepts(text) in (True, False), name


def _script(text: str) -> None:
    names = ("start-seconds", "ready-seconds", "run-seconds", "exit-code", "exit-code.c", "fail-indexes",
             "fail-restarts", "stop-seconds", "disrupted")  # fmt: skip
    lines = text.split("\n")
    annotations = {f"jobrelay.dev/{name}": lines[number % len(lines)] for number, name in enumerate(names)}
    parse_script({**annotations, "batch.kubernetes.io/job-completion-index": lines[-1]}, "Never").code("c", 0)


_CEL_WORDS: Final = (
    b"self", b"n", b"s", b"words", b"map", b".all(x, ", b".exists(x, ", b".map(x, ", b".filter(x, ", b".size()",
    b"has(self.a)", b"int(", b"string(", b"duration('1h')", b"timestamp('2024-01-01T00:00:00Z')", b"quantity('1Gi')",
    b".matches('a+')", b".find('", b".format(['", b"%d%s%.3f%x", b" && ", b" || ", b" ? 1 : 2", b" in ",
    b"optional.of(",
    b".orValue(", b"[?", b".?", b"{'a': 1}", b"[1, 2]", b"1u", b"0x1f", b"1.5e3", b"b'\\x00'", b"r'\\'", b"'''a'''",
    b"url('http://a')", b"ip('1.2.3.4')", b"cidr('10.0.0.0/8')", b"semver('1.2.3')", b"cel.bind(x, ", b")", b"(", b"!",
    b"-", b"dyn(", b"type(", b"sets.contains(", b"math.greatest(", b".replace('", b".split('", b".substring(", b"null",
    b"bytes(", b"double(", b"uint(", b".sortBy(x, ", b".sum()", b".min()", b".indexOf(", b".isSorted()", b"[", b"]",
    b".getFullYear()", b".join('", b".lowerAscii()", b"base64.decode('", b"regex.extract('",
)  # fmt: skip
_TIME_WORDS: Final = (b"T", b"Z", b":", b"-", b"+00:00", b"+99:99", b".", b",", b".123456", b"9999", b"0000")

TEXTS: Final = (
    Target("label-selector", plain(of_text(_label_selector)), (selectors.SelectorError,),
           (b"=", b"==", b"!=", b" in (", b" notin (", b")", b",", b"!", b">", b"<", b"a", b"x.example.com/")),
    Target("field-selector", plain(of_text(selectors.parse_field_selector)), (selectors.SelectorError,),
           (b"metadata.name", b"=", b"==", b"!=", b",", b"\\", b"\\,", b"\\=")),
    Target("quantity", plain(of_text(_quantity)), (quantity.QuantityError,),
           (b"Ki", b"Mi", b"Ei", b"m", b"n", b"u", b"k", b"E", b"e3", b"e-9", b".", b"+", b"-", b"i")),
    Target("duration", plain(of_text(_duration)), (times.TimeError,),
           (b"h", b"m", b"s", b"ms", b"us", "µs".encode(), b"ns", b".", b"-", b"+")),
    Target("time", plain(of_text(_time)), (times.TimeError,), _TIME_WORDS),
    Target("micro-time", plain(of_text(_micro_time)), (times.TimeError,), _TIME_WORDS),
    Target("schedule", plain(of_text(_schedule)), (cron.ScheduleError,),
           (b"*", b"/", b"-", b",", b"?", b" ", b"@every ", b"@daily", b"TZ=", b"CRON_TZ=", b"UTC", b"Europe/Berlin",
           b"mon",
            b"jan", b"1h")),
    Target("jsonpath", plain(of_text(_jsonpath)), (jsonpath.JsonPathError,),
           (b".", b"..", b"[", b"]", b"*", b"?(@", b")", b"==", b"<", b"'", b'"', b",", b":", b"items", b"type",
           b"$", b"\\")),
    Target("cel", plain(of_text(_cel)), (CompileError, CelError, CostExceeded), _CEL_WORDS),
    Target("formats", plain(of_text(_formats)), (), (b"@", b".", b":", b"-", b"/", b"::", b"%", b"://", b"P", b"T",
    b"(")),
    Target("pod-script", plain(of_text(_script)), (), (b"\n", b"forever", b"never", b"true", b"1-3", b",", b"nan",
    b"inf")),
)  # fmt: skip
