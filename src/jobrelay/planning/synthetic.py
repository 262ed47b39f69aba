"""Synthetic traces: Jobs drawn from a seed.

Users submit the same few Job templates again and again. So templates are drawn first, each with its namespace, its pods
and its typical duration, and then Jobs from them, some templates far more often than others. Most pods are small, most
Jobs have one pod, durations are log-normal, and Jobs arrive at random (Poisson).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from random import Random
from typing import Any, Final, NamedTuple

from jobrelay.planning.errors import PlanError
from jobrelay.planning.fleet import GPU, FleetDescription
from jobrelay.planning.shapes import JobShape, JobTexts, job_shape
from jobrelay.planning.trace import TraceJob
from jobrelay.planning.values import seconds

_CPUS: Final = {1: 40, 2: 25, 4: 20, 8: 10, 16: 5}
_GIB_PER_CPU: Final = (1, 2, 4)
_PODS: Final = {1: 70, 2: 10, 4: 10, 8: 7, 16: 3}
_SPREAD: Final = 0.8
"""The standard deviation of the logarithm of a template's durations."""
_GPU_SHARE: Final = 0.25
"""How many templates ask for GPUs on a fleet that has some."""
_HINT: Final = "write for example --synthetic jobs=10000,load=0.8,seed=1"


@dataclass(frozen=True, slots=True)
class SyntheticSpec:
    """What `--synthetic` says."""

    jobs: int = 1000
    seed: int = 0
    load: float = 0.7
    """The share of the fleet's CPU that they need; ignored if `rate` is given."""
    rate: float | None = None
    """Jobs per second."""
    duration: float = 300.0
    """The median duration of the templates, in seconds."""
    templates: int = 16
    namespaces: int = 4


_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "jobs": int, "seed": int, "load": float, "rate": float, "duration": seconds, "templates": int, "namespaces": int,
}  # fmt: skip


def parse_synthetic(text: str) -> SyntheticSpec:
    """Parse `jobs=1000,load=0.8,seed=1`; raises PlanError."""
    given: dict[str, Any] = {}
    for item in text.split(","):
        name, _, value = (part.strip() for part in item.partition("="))
        if name not in _PARSERS:
            near = difflib.get_close_matches(name, _PARSERS, 1)
            known = ", ".join(field.name for field in fields(SyntheticSpec))
            raise PlanError(f"--synthetic: {name!r} is none of {known}", f"did you mean {near[0]}?" if near else _HINT)
        try:
            given[name] = _PARSERS[name](value)
        except ValueError as error:
            raise PlanError(f"--synthetic: {name}: {value!r} is not a number", _HINT) from error
        if name != "seed" and not 0 < given[name] < math.inf:
            raise PlanError(f"--synthetic: {name}: {value!r} is not above 0", _HINT)
    return SyntheticSpec(**given)


class _Template(NamedTuple):
    shape: JobShape
    median: float
    name: str


class SyntheticTrace:
    """The Jobs of a spec; each iteration draws the same ones."""

    def __init__(self, spec: SyntheticSpec, fleet: FleetDescription) -> None:
        self._spec = spec
        random = Random(f"templates {spec.seed}")
        self._templates = [_template(number, random, spec, fleet) for number in range(spec.templates)]
        self._popularity = [1 / (rank + 1) for rank in range(spec.templates)]
        self._rate = spec.rate or spec.load * float(fleet.total("cpu")) / self._mean_work()

    def __len__(self) -> int:
        return self._spec.jobs

    def __iter__(self) -> Iterator[TraceJob]:
        random, time = Random(f"jobs {self._spec.seed}"), 0.0
        weights = self._popularity
        for number in range(self._spec.jobs):
            time += random.expovariate(self._rate)
            (template,) = random.choices(self._templates, weights)
            duration = round(max(template.median * math.exp(random.gauss(0, _SPREAD)), 1.0), 1)
            yield TraceJob(round(time, 3), duration, template.shape, f"{template.name}-{number}")

    def _mean_work(self) -> float:
        """CPU seconds of a Job on average."""
        work = [
            one.shape.cpu * one.shape.completions * one.median * math.exp(_SPREAD**2 / 2) for one in self._templates
        ]
        shares = zip(work, self._popularity, strict=True)
        return sum(one * share for one, share in shares) / sum(self._popularity)


def _template(number: int, random: Random, spec: SyntheticSpec, fleet: FleetDescription) -> _Template:
    """Pods are not larger than the largest node."""
    nodes = [node for worker in fleet.workers for node in worker.nodes]
    most = {name: max(int(node.get(name, 0)) for node in nodes) for name in ("cpu", "memory", GPU)}
    cpu = max(min(_draw(random, _CPUS), most["cpu"]), 1)
    memory = min(cpu * random.choice(_GIB_PER_CPU), most["memory"] // 2**30)
    gpu = min(random.choice((1, 1, 2)), most[GPU]) if random.random() < _GPU_SHARE else 0
    pods = _draw(random, _PODS)
    median = spec.duration * math.exp(random.gauss(0, 1))
    space = f"team-{1 + number % spec.namespaces}"
    texts = JobTexts(space, str(cpu), f"{memory}Gi" if memory else "0", str(gpu), pods, pods)
    return _Template(job_shape(texts), median, f"template-{number + 1}")


def _draw(random: Random, weights: Mapping[int, int]) -> int:
    return random.choices(list(weights), list(weights.values()))[0]
