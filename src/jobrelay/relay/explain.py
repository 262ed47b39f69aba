"""Explains why a workload is where it is, from the same functions that decide.

A `DelegatedWorkload` is one entry of a list; an `Explanation` adds the verdicts on all workers, which cost more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from jobrelay.kube.objects import Key
from jobrelay.relay.dependencies.views import DependencyView, dependency_views
from jobrelay.relay.line_view import LinePlace
from jobrelay.relay.lookalikes import ignored, in_the_way
from jobrelay.relay.original_decision import OriginalDecision, Stage
from jobrelay.relay.snapshot import WorkloadSnapshot

_MAX_LOOKALIKES: Final = 10
_WITH_PODS: Final = (Stage.RUNNING, Stage.NOT_RUNNING, Stage.FINISHED)


class WorkerVerdict(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Whether one worker can take the workload, and why."""

    worker: str
    ok: bool
    sentence: str
    would_change: str = ""
    score: float | None = None
    parts: tuple[dict[str, Any], ...] = ()


class DelegatedWorkload(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One delegated workload."""

    kind: str
    namespace: str
    name: str
    stage: str
    sentence: str
    cluster: str = ""
    epoch: int = 0
    mirror: str = ""
    line: LinePlace | None = None
    """Its place in line, while it waits for a worker."""
    troubles: tuple[str, ...] = ()
    """What is wrong with its pods on the worker, as far as is known."""


class Explanation(DelegatedWorkload, frozen=True):
    """One delegated workload with the verdicts on all workers."""

    fenced: bool = False
    unfenced: str = ""
    """What it means that its kind cannot be fenced; empty if it can."""
    workers: tuple[WorkerVerdict, ...] = ()
    problems: tuple[str, ...] = ()
    dependencies: tuple[DependencyView, ...] = ()
    queue: Mapping[str, Any] | None = None
    """Its place in a queue; None if it is in none."""
    supposed: Mapping[str, Any] | None = None
    """Where it would be placed with other workers, if that was asked."""


def workload_view(
    snapshot: WorkloadSnapshot, decision: OriginalDecision, line: LinePlace | None = None
) -> DelegatedWorkload:
    """The entry of a list."""
    to, mirror = snapshot.assignment, snapshot.mirror
    return DelegatedWorkload(
        snapshot.adapter.resource.kind,
        snapshot.original.namespace,
        snapshot.original.name,
        decision.stage.value,
        decision.sentence,
        to.cluster if to is not None else "",
        to.epoch if to is not None else 0,
        mirror.obj.name if mirror is not None else "",
        line,
        snapshot.pods.troubles if decision.stage in _WITH_PODS else (),
    )


def explain(
    snapshot: WorkloadSnapshot,
    decision: OriginalDecision,
    line: LinePlace | None = None,
    queue: Mapping[str, Any] | None = None,
    supposed: Mapping[str, Any] | None = None,
) -> Explanation:
    """The full explanation, with the verdicts of a placement at this moment."""
    verdicts: tuple[WorkerVerdict, ...] = ()
    problems: tuple[str, ...] = ()
    if decision.stage not in (Stage.NOT_OURS, Stage.REFUSED, Stage.FINISHED, Stage.DELETING):
        placement = decision.placement or snapshot.place()
        problems = placement.problems
        verdicts = tuple(
            WorkerVerdict(
                each.worker,
                each.ok,
                each.sentence,
                each.would_change,
                each.score,
                tuple({"policy": part.name, "score": part.raw, "weight": part.weight} for part in each.parts),
            )
            for each in placement.verdicts
        )
    view = msgspec.structs.asdict(workload_view(snapshot, decision, line))
    mirrors = {worker: mirror.obj for worker, mirror in snapshot.mirrors.items()}
    return Explanation(
        **view,
        fenced=snapshot.fenced,
        unfenced=_unfenced(snapshot) if snapshot.delegated else "",
        workers=verdicts,
        problems=(*problems, *_lookalikes(snapshot)),
        dependencies=dependency_views(snapshot.references, snapshot.answers, mirrors),
        queue=queue,
        supposed=supposed,
    )


def not_followed(kind: str, key: Key, problem: str) -> Explanation:
    """The explanation of an object whose kind the relay does not follow."""
    sentence = f"The relay does not run {kind}s: {problem}."
    return Explanation(kind, key.namespace, key.name, Stage.NOT_FOLLOWED.value, sentence)


def _unfenced(snapshot: WorkloadSnapshot) -> str:
    kind, settings = snapshot.adapter.resource.kind, snapshot.settings
    if snapshot.adapter.enforces_deadline:
        return ""
    return (
        f"no worker stops a {kind} by itself: if its worker is lost, it is started elsewhere after "
        f"{settings.lost_timeout:g} s, and may go on there beside the new run until that worker returns"
    )


def _lookalikes(snapshot: WorkloadSnapshot) -> Iterator[str]:
    """The message of each look-alike's event; of many, only the first ones."""
    found = list(snapshot.lookalikes.values())
    for each in found[:_MAX_LOOKALIKES]:
        yield in_the_way(each) if each in snapshot.unproven else ignored(each)
    if len(found) > _MAX_LOOKALIKES:
        yield f"{len(found) - _MAX_LOOKALIKES} more objects claim to be a mirror of this without a valid proof"
