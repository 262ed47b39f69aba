"""The fleet file: the workers of a plan, their nodes, and what happens to them.

One entry of `workers` stands for one worker, or with `count` for several alike, `NAME-1`, `NAME-2` and so on.
"""

from __future__ import annotations

import difflib
import pathlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import msgspec
import yaml

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.planning.errors import PlanError
from jobrelay.planning.values import amount, seconds

GPU: Final = "nvidia.com/gpu"
_PODS: Final = "110"
_Amount = str | int | float


class _NodeEntry(msgspec.Struct, forbid_unknown_fields=True):
    cpu: _Amount
    memory: _Amount
    count: int = 1
    gpu: _Amount = 0
    pods: _Amount = _PODS


class _WorkerEntry(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    nodes: list[_NodeEntry]
    count: int | None = None
    labels: dict[str, str] = {}
    cost: _Amount = 0
    weight: _Amount = 1
    namespaces: list[str] = []


class _Period(msgspec.Struct, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    worker: str
    start: _Amount
    end: _Amount


class _OutageEntry(_Period, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    stops: bool = False


class _FleetFile(msgspec.Struct, forbid_unknown_fields=True):
    workers: list[_WorkerEntry]
    outages: list[_OutageEntry] = []
    drains: list[_Period] = []


@dataclass(frozen=True, slots=True)
class WorkerDescription:
    """One worker: its nodes by what each has allocatable, and what placement knows of it."""

    name: str
    nodes: tuple[Mapping[str, Fraction], ...]
    labels: Mapping[str, str]
    cost: Fraction = Fraction(0)
    weight: Fraction = Fraction(1)
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerDisruption:
    """A worker is out of reach or drained for a while, in seconds from the start of the trace."""

    worker: str
    start: float
    end: float
    stops: bool = False
    """Whether an outage stops the pods there too; they restart when it is over."""


@dataclass(frozen=True, slots=True)
class FleetDescription:
    """The workers in their order, and what happens to them."""

    workers: tuple[WorkerDescription, ...]
    outages: tuple[WorkerDisruption, ...] = ()
    drains: tuple[WorkerDisruption, ...] = ()

    def total(self, resource: str) -> Fraction:
        """What all nodes together have allocatable of a resource."""
        return sum((node.get(resource, Fraction(0)) for one in self.workers for node in one.nodes), Fraction(0))


def read_fleet(path: pathlib.Path) -> FleetDescription:
    """Read a fleet file; raises PlanError."""
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise PlanError(f"{path} is not YAML: {error}") from error
    return parse_fleet(content, str(path))


def parse_fleet(content: Any, where: str = "the fleet") -> FleetDescription:
    """A fleet from the content of a fleet file; raises PlanError."""
    try:
        found = msgspec.convert(content, _FleetFile)
    except msgspec.ValidationError as error:
        raise PlanError(f"{where}: {error}", _hint(str(error))) from error
    entries = [(entry, f"{where}: workers[{number}]") for number, entry in enumerate(found.workers)]
    workers = tuple(worker for entry, place in entries for worker in _workers(entry, place))
    if not workers:
        raise PlanError(f"{where} has no workers", "add an entry to `workers`, with a name and nodes")
    counts = Counter(worker.name for worker in workers)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise PlanError(f"{where} has two workers named {twice[0]}", "give each entry of `workers` its own name")
    outages = _incidents(found.outages, counts, f"{where}: outages")
    return FleetDescription(workers, outages, _incidents(found.drains, counts, f"{where}: drains"))


def _hint(message: str) -> str:
    unknown = re.search(r"unknown field `(\w+)`", message)
    known = ["workers", "outages", "drains", "name", "nodes", "count", "labels", "cost", "weight", "namespaces", "cpu",
             "memory", "gpu", "pods", "worker", "from", "to", "stops"]  # fmt: skip
    near = difflib.get_close_matches(unknown[1], known, 1) if unknown else []
    guess = f"did you mean {near[0]}? " if near else ""
    return f"{guess}docs/guides/planning.md shows a whole fleet file"


def _workers(entry: _WorkerEntry, where: str) -> Iterable[WorkerDescription]:
    names = [entry.name] if entry.count is None else [f"{entry.name}-{one}" for one in range(1, entry.count + 1)]
    if bad := name_is_dns_subdomain(entry.name, False):
        raise PlanError(f"{where}.name: {entry.name!r} is not a name of a worker: {bad[0]}")
    nodes = tuple(
        node for number, one in enumerate(entry.nodes) for node in [_node(one, f"{where}.nodes[{number}]")] * one.count
    )
    if not nodes:
        raise PlanError(f"{where} has no nodes", "write nodes: [{count: 4, cpu: 16, memory: 64Gi}]")
    cost, weight = _number(entry.cost, f"{where}.cost"), _number(entry.weight, f"{where}.weight")
    return [WorkerDescription(name, nodes, entry.labels, cost, weight, tuple(entry.namespaces)) for name in names]


def _node(entry: _NodeEntry, where: str) -> Mapping[str, Fraction]:
    if entry.count < 1:
        raise PlanError(f"{where}.count: {entry.count} is not a number of nodes")
    texts = {"cpu": entry.cpu, "memory": entry.memory, "pods": entry.pods, GPU: entry.gpu}
    return {name: _number(text, f"{where}.{'gpu' if name == GPU else name}") for name, text in texts.items() if text}


def _number(text: _Amount, where: str) -> Fraction:
    try:
        return quantity.number(amount(str(text)))
    except ValueError as error:
        raise PlanError(f"{where}: {error}") from error


def _incidents(entries: Sequence[_Period], workers: Mapping[str, int], where: str) -> tuple[WorkerDisruption, ...]:
    found = [_incident(entry, workers, f"{where}[{number}]") for number, entry in enumerate(entries)]
    for one, other in pairwise(sorted(found, key=lambda each: (each.worker, each.start))):
        if one.worker == other.worker and other.start <= one.end:
            raise PlanError(f"{where}: two of {one.worker} overlap", "make one of them, or leave time in between")
    return tuple(found)


def _incident(entry: _Period, workers: Mapping[str, int], where: str) -> WorkerDisruption:
    if entry.worker not in workers:
        near = difflib.get_close_matches(entry.worker, workers, 1)
        raise PlanError(f"{where}: no worker is named {entry.worker!r}", f"did you mean {near[0]}?" if near else "")
    try:
        start, end = seconds(str(entry.start)), seconds(str(entry.end))
    except ValueError as error:
        raise PlanError(f"{where}: {error}", "times count from the begin of the trace: 90s, 15m, 1h30m") from error
    if end <= start:
        raise PlanError(f"{where}: it ends before it begins", "`from` has to be earlier than `to`")
    return WorkerDisruption(entry.worker, start, end, isinstance(entry, _OutageEntry) and entry.stops)
