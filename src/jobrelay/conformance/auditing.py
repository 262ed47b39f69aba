"""Audits the statuses of all Jobs of a cluster, whichever controllers write them; it writes nothing.

An `Auditor` is fed with versions of Jobs, from a watch or from a file, and judges each with the one before. It counts
steps and violations by controller. What was there before it began is believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobrelay.conformance.rules import ConformanceRule, Level
from jobrelay.conformance.steps import judge_step, status_writers
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
from jobrelay.kube.metrics import family

if TYPE_CHECKING:
    from prometheus_client import Metric

__all__ = ["AuditFinding", "Auditor", "controller_of"]

Obj = dict[str, Any]


def controller_of(job: Mapping[str, Any]) -> str:
    """The controller that a Job is for: the value of `managedBy`, or the built-in one."""
    name: str = (job.get("spec") or {}).get("managedBy") or BUILT_IN_CONTROLLER
    return name


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """A step that broke a rule: whose Job it was, who wrote it, and the two statuses.

    `refused` is a write that the API server did not accept, as an audit log shows it.
    """

    time: str
    controller: str
    job: str
    rule: ConformanceRule
    story: str
    writers: tuple[str, ...]
    before: Obj
    after: Obj
    refused: bool = False

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return {
            "time": self.time,
            "controller": self.controller,
            "job": self.job,
            "severity": "illegal" if self.rule.illegal else "suspicious",
            "rule": self.rule.name,
            "meaning": self.rule.meaning,
            "story": self.story,
            "refused": self.refused,
            "writers": list(self.writers),
            "before": self.before,
            "after": self.after,
        }


class Auditor:
    """Judges versions of Jobs in the order in which they come, by the rules up to a level; it is a collector of metrics
    too."""

    def __init__(self, level: Level = Level.OBSERVES) -> None:
        self._level = level
        self._known: dict[str, Obj] = {}
        self._steps: Counter[str] = Counter()
        self._broken: Counter[tuple[str, str]] = Counter()

    @property
    def steps(self) -> int:
        """How many changes of statuses were judged."""
        return self._steps.total()

    @property
    def violations(self) -> int:
        return self._broken.total()

    def seen(self, job: Obj, time: str, *, created: bool = False) -> tuple[AuditFinding, ...]:
        """Judge the next version of a Job; `created` is one that cannot have been there before.

        Raises `apimachinery.decode.DecodeError` if it is not a Job.
        """
        uid = job["metadata"].get("uid", "")
        old = self._known.get(uid)
        if old is None and created:
            old = {name: value for name, value in job.items() if name != "status"}
        found = () if old is None else self._judge(old, job, time)
        self._known[uid] = job
        return found

    def refused(self, job: Obj, time: str) -> tuple[AuditFinding, ...]:
        """Judge a write that the API server has refused: the Job stays as it was. Raises DecodeError."""
        old = self._known.get(job["metadata"].get("uid", ""))
        return () if old is None else self._judge(old, {**old, "status": job.get("status") or {}}, time, refused=True)

    def gone(self, job: Obj) -> None:
        """Forget a Job that was deleted."""
        self._known.pop(job["metadata"].get("uid", ""), None)

    def _judge(self, old: Obj, new: Obj, time: str, *, refused: bool = False) -> tuple[AuditFinding, ...]:
        before, after = old.get("status") or {}, new.get("status") or {}
        if before == after:
            return ()
        controller, metadata = controller_of(new), new["metadata"]
        self._steps[controller] += 1
        violations = [each for each in judge_step(old, new) if each.rule.level <= self._level]
        self._broken.update((controller, each.rule.name) for each in violations)
        job, writers = f"{metadata.get('namespace', '')}/{metadata['name']}", tuple(sorted(status_writers(new)))
        return tuple(
            AuditFinding(time, controller, job, each.rule, each.story, writers, before, after, refused)
            for each in violations
        )

    def summary(self) -> list[dict[str, Any]]:
        """For each controller how many steps it made and which rules it broke how often, as JSON values."""
        return [
            {
                "controller": name,
                "steps": count,
                "violations": {rule: times for (whose, rule), times in sorted(self._broken.items()) if whose == name},
            }
            for name, count in sorted(self._steps.items())
        ]

    def collect(self) -> Iterator[Metric]:
        """Metrics: judged steps, and violations by controller and rule."""
        steps = [("", {"controller": name}, count) for name, count in sorted(self._steps.items())]
        yield family("jobrelay_conformance_steps_total", "counter", "Changes of statuses that were judged.", steps)
        broken = [("", {"controller": who, "rule": rule}, count) for (who, rule), count in sorted(self._broken.items())]
        yield family("jobrelay_conformance_violations_total", "counter", "Rules that statuses have broken.", broken)
