"""Level `observes`: whose Jobs a controller takes, and what it leaves behind."""

from __future__ import annotations

from typing import Final

from jobrelay.conformance.behaviour import PodBehaviour
from jobrelay.conformance.job_under_test import NOBODY, JobUnderTest
from jobrelay.conformance.rules import Level
from jobrelay.conformance.scenario import Scenario, scenario

SCENARIOS: Final[list[Scenario]] = []
_QUIET: Final = 8.0
_LONG: Final = PodBehaviour(seconds=30)


@scenario(SCENARIOS, Level.OBSERVES, "managedBy")
async def foreign(job: JobUnderTest) -> None:
    """A Job of a controller that does not exist keeps an empty status and gets no pods."""
    await job.submit(PodBehaviour(), managed_by=NOBODY)
    await job.never("R6", "somebody acted on it", lambda: bool(job.status or job.record.pods), _QUIET)


@scenario(SCENARIOS, Level.OBSERVES, "suspend")
async def created_suspended(job: JobUnderTest) -> None:
    """A Job that is created suspended says so, and nothing of it is started."""
    await job.submit(PodBehaviour(), suspend=True)
    await job.is_taken()
    await job.is_suspended("R7")
    started = "it has a start time, active pods or pods"
    await job.never("R7", started, lambda: bool(job.status.get("startTime") or job.active or job.record.made), 2.0)


@scenario(SCENARIOS, Level.OBSERVES, "deletion")
async def deletion(job: JobUnderTest) -> None:
    """A running Job that is deleted goes, with all its pods."""
    await job.submit(_LONG, parallelism=2, completions=2)
    await job.has_active(2, "R2")
    await job.delete("Background")
    await job.is_gone()


@scenario(SCENARIOS, Level.OBSERVES, "deletion")
async def foreground_deletion(job: JobUnderTest) -> None:
    """A running Job that is deleted in the foreground lets go of its pods, and goes after them."""
    await job.submit(_LONG)
    await job.has_active(1, "R2")
    await job.delete("Foreground")
    await job.is_gone()
