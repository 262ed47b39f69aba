"""Why a workload is where it is: one sentence and a structure, from the same functions that decide.

A `WorkloadView` is what a list shows of each workload; an `Explanation` adds the verdicts on all workers, which cost more.
"""

from __future__ import annotations

from typing import Any

import msgspec

from jobrelay.relay.decide import Decision, Stage
from jobrelay.relay.situation import Situation

__all__ = ["Explanation", "WorkerVerdict", "WorkloadView", "explain", "workload_view"]


class WorkerVerdict(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is to be said about one worker."""

    worker: str
    ok: bool
    sentence: str
    would_change: str = ""
    score: float | None = None
    parts: tuple[dict[str, Any], ...] = ()


class WorkloadView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One delegated workload."""

    kind: str
    namespace: str
    name: str
    stage: str
    sentence: str
    cluster: str = ""
    epoch: int = 0
    mirror: str = ""


class Explanation(WorkloadView, frozen=True):
    """All about one workload."""

    fenced: bool = False
    workers: tuple[WorkerVerdict, ...] = ()
    problems: tuple[str, ...] = ()


def workload_view(now: Situation, decision: Decision) -> WorkloadView:
    """Where it is, in short."""
    to, mirror = now.assignment, now.mirror
    return WorkloadView(
        now.adapter.resource.kind,
        now.obj.namespace,
        now.obj.name,
        decision.stage.value,
        decision.sentence,
        to.cluster if to is not None else "",
        to.epoch if to is not None else 0,
        mirror.obj.name if mirror is not None else "",
    )


def explain(now: Situation, decision: Decision) -> Explanation:
    """The whole story; the verdicts are those of a placement at this moment."""
    verdicts: tuple[WorkerVerdict, ...] = ()
    problems: tuple[str, ...] = ()
    if decision.stage not in (Stage.NOT_OURS, Stage.FINISHED, Stage.DELETING):
        placement = decision.placement or now.place()
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
    short = msgspec.structs.asdict(workload_view(now, decision))
    return Explanation(**short, fenced=now.fenced, workers=verdicts, problems=problems)
