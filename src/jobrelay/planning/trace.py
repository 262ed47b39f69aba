"""Traces: which Jobs are created when, and how long their pods run. A CSV file with a line for each Job."""

from __future__ import annotations

import csv
import difflib
import functools
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, NoReturn, Protocol, TextIO, TypeVar

from jobrelay.apimachinery.names import name_is_dns_label
from jobrelay.apimachinery.times import TimeError, parse_time
from jobrelay.planning.errors import PlanError
from jobrelay.planning.shapes import JobShape, JobTexts, job_shape
from jobrelay.planning.values import amount, seconds

REQUIRED: Final = ("submit", "duration")
OPTIONAL: Final = ("namespace", "name", "cpu", "memory", "gpu", "pods", "completions", "clusters", "preferred",
                   "selector")  # fmt: skip
RECORDED: Final = ("worker", "started", "ended")
"""Further fields of a recording; plans do not use them."""
COLUMNS: Final = (*REQUIRED, *OPTIONAL, *RECORDED)
T = TypeVar("T")


class TraceJob(NamedTuple):
    """A Job: when it is created, in seconds from the begin, and how long each of its pods runs."""

    submit: float
    duration: float
    shape: JobShape
    name: str


class Trace(Protocol):
    """Jobs in the order of their creation; can be read several times."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[TraceJob]: ...


def read_trace(path: pathlib.Path) -> Trace:
    """Read a trace; raises PlanError."""
    try:
        with path.open(newline="") as lines:
            return parse_trace(lines, str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} cannot be read: {error}") from error


def parse_trace(lines: Iterable[str], where: str = "the trace") -> Trace:
    """A trace from the lines of a CSV file; raises PlanError with line and column."""
    reader = csv.reader(lines, skipinitialspace=True)
    head = [name.strip() for name in next(reader, [])]
    _check_head(head, where)
    shapes = functools.lru_cache(None)(job_shape)
    jobs = [_job(_Line(where, reader.line_num, head, row), shapes) for row in reader if any(row)]
    if not jobs:
        raise PlanError(f"{where} has no Jobs", "write one line for each Job below the heading")
    return sorted(_from_zero(jobs, where), key=lambda job: job.submit)


def _check_head(head: list[str], where: str) -> None:
    for name in REQUIRED:
        if name not in head:
            raise PlanError(f"{where}, line 1: there is no column {name}", f"begin with a line such as {_EXAMPLE}")
    for name in head:
        if name not in COLUMNS or head.count(name) > 1:
            near = difflib.get_close_matches(name, COLUMNS, 1)
            guess = f"did you mean {near[0]}? " if near and near[0] != name else ""
            what = "there are two columns" if head.count(name) > 1 else "no column is called"
            raise PlanError(f"{where}, line 1: {what} {name!r}", f"{guess}columns are {', '.join(COLUMNS)}")


_EXAMPLE: Final = "submit,duration,namespace,name,cpu,memory,pods"


class _Line:
    """One line, whose cells are read with errors that say where they are."""

    def __init__(self, where: str, number: int, head: list[str], row: list[str]) -> None:
        self._where = f"{where}, line {number}"
        if len(row) != len(head):
            cells = f"{len(row)} cells, but the heading has {len(head)}"
            raise PlanError(f"{self._where}: it has {cells}", 'put lists with commas in quotes: "a,b"')
        self._cells: Mapping[str, str] = dict(zip(head, row, strict=True))
        self.number = number

    def read(self, column: str, parse: Callable[[str], T], default: T, hint: str = "") -> T:
        text = self._cells.get(column, "").strip()
        if not text:
            if column in REQUIRED:
                self.refuse(column, "it is empty", hint)
            return default
        try:
            return parse(text)
        except ValueError as error:
            self.refuse(column, str(error), hint)

    def refuse(self, column: str, problem: str, hint: str) -> NoReturn:
        raise PlanError(f"{self._where}, column {column}: {problem}", hint)


class _Submitted(NamedTuple):
    submit: float | datetime
    job: TraceJob
    line: int


def _job(line: _Line, shapes: Callable[[JobTexts], JobShape]) -> _Submitted:
    pods = line.read("pods", _count, 1, "write how many pods run at the same time, as in 4")
    texts = JobTexts(
        namespace=line.read("namespace", _namespace, "default", "write a namespace, as in team-a"),
        cpu=line.read("cpu", amount, "1", _AMOUNT),
        memory=line.read("memory", amount, "0", _AMOUNT),
        gpu=line.read("gpu", amount, "0", "write how many GPUs one pod needs, as in 1"),
        pods=pods,
        completions=line.read("completions", _count, pods, "write how many pods have to succeed, as in 4"),
        clusters=line.read("clusters", str, ""),
        preferred=line.read("preferred", str, ""),
        selector=line.read("selector", str, ""),
    )
    shape = shapes(texts)
    if problem := shape.request.problem or "; ".join(shape.request.notes):
        column = "selector" if "selector" in problem else "clusters" if shape.request.problem else "preferred"
        line.refuse(column, problem, "write worker names with commas between them, or a label selector")
    submit = line.read("submit", _submit, _BEGIN, "write seconds from the begin, as in 90 or 1m30s, or a time of day")
    duration = line.read("duration", seconds, 0.0, "write how long each pod runs, as in 90 or 1m30s")
    name = line.read("name", str, f"line-{line.number}")
    return _Submitted(submit, TraceJob(0.0, duration, shape, name), line.number)


_BEGIN: float | datetime = 0.0
_AMOUNT: Final = "write what one pod requests, as in 2, 500m or 4Gi"


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError(f"{text!r} is not a number of pods")
    return int(text)


def _namespace(text: str) -> str:
    if bad := name_is_dns_label(text, False):
        raise ValueError(f"{text!r} is not a namespace: {bad[0]}")
    return text


def _submit(text: str) -> float | datetime:
    if "T" not in text:
        return seconds(text)
    try:
        return parse_time(text)
    except TimeError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def _from_zero(jobs: list[_Submitted], where: str) -> Iterator[TraceJob]:
    """Jobs with the seconds from the first one, if the trace has times of day."""
    begin = min((job.submit for job in jobs if isinstance(job.submit, datetime)), default=None)
    for submit, job, line in jobs:
        if isinstance(submit, datetime) and begin is not None:
            yield job._replace(submit=(submit - begin).total_seconds())
        elif isinstance(submit, float) and begin is None:
            yield job._replace(submit=submit)
        else:
            problem = f"{where}, line {line}, column submit: times and seconds are mixed"
            raise PlanError(problem, "write all of them in the same way")


def write_trace(rows: Iterable[Mapping[str, Any]], columns: Iterable[str], file: TextIO) -> None:
    """Write rows as a CSV file with a heading."""
    out = csv.DictWriter(file, list(columns), lineterminator="\n")
    out.writeheader()
    out.writerows(rows)
