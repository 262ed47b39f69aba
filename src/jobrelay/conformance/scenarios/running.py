"""Level `runs`: Jobs that end as their pods and their spec call for."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.times import parse_time
from jobrelay.conformance.behaviour import PodBehaviour
from jobrelay.conformance.job_under_test import Broken, JobUnderTest
from jobrelay.conformance.rules import Level
from jobrelay.conformance.scenario import Scenario, scenario
from jobrelay.kinds.batch.job.names import SUSPENDED
from jobrelay.kinds.batch.job.write import is_condition

SCENARIOS: Final[list[Scenario]] = []
_REACHED: Final = "CompletionsReached"
_LONG: Final = PodBehaviour(seconds=30)


@scenario(SCENARIOS, Level.RUNS, "completions")
async def plain(job: JobUnderTest) -> None:
    """Three pods, two at a time, succeed: Complete with three successes."""
    await job.submit(PodBehaviour(), parallelism=2, completions=3)
    await job.completes(_REACHED, succeeded=3, failed=0)


@scenario(SCENARIOS, Level.RUNS, "completions")
async def no_completions(job: JobUnderTest) -> None:
    """A Job that asks for no completions is Complete without any pod."""
    await job.submit(PodBehaviour(), completions=0)
    await job.completes(_REACHED, succeeded=0, failed=0)


@scenario(SCENARIOS, Level.RUNS, "completionMode")
async def indexed(job: JobUnderTest) -> None:
    """Each of four indexes succeeds once: Complete with all of them."""
    await job.submit(PodBehaviour(), completionMode="Indexed", parallelism=2, completions=4)
    await job.completes(_REACHED, succeeded=4, failed=0, completedIndexes="0-3")


@scenario(SCENARIOS, Level.RUNS, "parallelism")
async def work_queue(job: JobUnderTest) -> None:
    """Without completions, the Job is Complete when one pod has succeeded and all have ended."""
    await job.submit(PodBehaviour(seconds=2), parallelism=2)
    await job.completes(_REACHED, failed=0)


@scenario(SCENARIOS, Level.RUNS, "parallelism")
async def scaled(job: JobUnderTest) -> None:
    """The number of active pods follows parallelism, up and down."""
    await job.submit(_LONG, parallelism=1, completions=6)
    await job.has_active(1)
    await job.change(parallelism=3)
    await job.has_active(3)
    await job.change(parallelism=2)
    await job.has_active(2)


@scenario(SCENARIOS, Level.RUNS, "backoffLimit")
async def no_retries(job: JobUnderTest) -> None:
    """With backoffLimit 0, the first failure is the end: Failed with one failure."""
    await job.submit(PodBehaviour(code=3), backoffLimit=0)
    await job.fails("BackoffLimitExceeded", succeeded=0, failed=1)


@scenario(SCENARIOS, Level.RUNS, "backoffLimit")
async def retries(job: JobUnderTest) -> None:
    """With backoffLimit 1, a failed pod is replaced once: Failed with two failures."""
    await job.submit(PodBehaviour(code=3), backoffLimit=1)
    await job.fails("BackoffLimitExceeded", succeeded=0, failed=2)


@scenario(SCENARIOS, Level.RUNS, "activeDeadlineSeconds")
async def deadline(job: JobUnderTest) -> None:
    """A Job that runs longer than its deadline is Failed, and not before."""
    await job.submit(_LONG, activeDeadlineSeconds=3)
    await job.fails("DeadlineExceeded", succeeded=0)
    failed = next(each for each in job.status["conditions"] if each["type"] == "Failed")
    ran = parse_time(failed["lastTransitionTime"]) - parse_time(job.status["startTime"])
    if ran.total_seconds() < 2:
        raise Broken("R2", f"it failed {ran.total_seconds():g} s after its start, the deadline was 3 s")


@scenario(SCENARIOS, Level.RUNS, "suspend")
async def suspension(job: JobUnderTest) -> None:
    """A running Job that is suspended stops; resumed, it starts anew and runs to its end."""
    await job.submit(PodBehaviour(seconds=5))
    await job.has_active(1, "R2")
    started = job.status.get("startTime")
    await job.change(suspend=True)
    await job.is_suspended("R8")
    await job.never("R8", "it did not stay suspended", lambda: job.active > 0, 1.5)
    await job.change(suspend=False)
    resumed = "Suspended=False and another start time were expected"
    await job.until(
        "R9", resumed, lambda: is_condition(job.status, SUSPENDED, "False") and job.status.get("startTime") != started
    )
    await job.completes(_REACHED, succeeded=1, failed=0)
