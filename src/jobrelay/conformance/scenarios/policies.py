"""Level `complete`: policies, elastic Jobs, time to live, and pods as the API describes them."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.conformance.behaviour import PodBehaviour
from jobrelay.conformance.job_under_test import Broken, JobUnderTest
from jobrelay.conformance.rules import Level
from jobrelay.conformance.scenario import Scenario, scenario

SCENARIOS: Final[list[Scenario]] = []
_INDEXED: Final[dict[str, Any]] = {"completionMode": "Indexed"}
_LONG: Final = PodBehaviour(seconds=30)


@scenario(SCENARIOS, Level.COMPLETE, "podFailurePolicy")
async def pod_failure_policy(job: JobUnderTest) -> None:
    """An exit code that the policy names fails the Job at once, whatever backoffLimit allows."""
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    await job.submit(PodBehaviour(code=42), backoffLimit=6, podFailurePolicy={"rules": [rule]})
    await job.fails("PodFailurePolicy", succeeded=0, failed=1)


@scenario(SCENARIOS, Level.COMPLETE, "successPolicy")
async def success_policy(job: JobUnderTest) -> None:
    """The index that the policy asks for succeeds: Complete, although the other index fails."""
    policy = {"rules": [{"succeededIndexes": "0"}]}
    await job.submit(PodBehaviour(failing=(1,)), **_INDEXED, parallelism=2, completions=2, successPolicy=policy)
    await job.completes("SuccessPolicy", succeeded=1, completedIndexes="0")


@scenario(SCENARIOS, Level.COMPLETE, "backoffLimitPerIndex")
async def backoff_per_index(job: JobUnderTest) -> None:
    """One index fails and the others go on: Failed at the end, with both kinds of indexes."""
    await job.submit(PodBehaviour(failing=(1,)), **_INDEXED, parallelism=3, completions=3, backoffLimitPerIndex=0)
    await job.fails("FailedIndexes", succeeded=2, failed=1, completedIndexes="0,2", failedIndexes="1")


@scenario(SCENARIOS, Level.COMPLETE, "maxFailedIndexes")
async def max_failed_indexes(job: JobUnderTest) -> None:
    """More indexes fail than maxFailedIndexes allows: Failed, without running the rest."""
    limits: dict[str, Any] = {"backoffLimitPerIndex": 0, "maxFailedIndexes": 0}
    await job.submit(PodBehaviour(failing=(0,)), **_INDEXED, **limits, parallelism=1, completions=5)
    await job.fails("MaxFailedIndexesExceeded", succeeded=0, failed=1, failedIndexes="0")


@scenario(SCENARIOS, Level.COMPLETE, "podFailurePolicy")
async def fail_index(job: JobUnderTest) -> None:
    """An exit code that the policy names fails its index without retries."""
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}
    limits: dict[str, Any] = {"backoffLimitPerIndex": 3, "podFailurePolicy": {"rules": [rule]}}
    await job.submit(PodBehaviour(failing=(1,)), **_INDEXED, **limits, parallelism=2, completions=2)
    await job.fails("FailedIndexes", succeeded=1, failed=1, completedIndexes="0", failedIndexes="1")


@scenario(SCENARIOS, Level.COMPLETE, "podReplacementPolicy")
async def replacement_policy(job: JobUnderTest) -> None:
    """With the policy Failed, a deleted pod is replaced after its end, and not while it terminates."""
    await job.submit(PodBehaviour(seconds=30, stop=13), podReplacementPolicy="Failed")
    await job.needs_pods(1)
    await job.delete_pod(job.pods[0])
    await job.until("R11", "terminating=1 was expected", lambda: job.status.get("terminating") == 1)
    await job.until("R11", "the deleted pod was expected to go", lambda: job.record.made > 1 or not job.pods)
    if job.record.made > 1:
        raise Broken("R11", "a pod was made beside the one that terminates")
    await job.until("R11", "a pod in its place was expected", lambda: job.record.made > 1)


@scenario(SCENARIOS, Level.COMPLETE, "podReplacementPolicy")
async def early_replacement(job: JobUnderTest) -> None:
    """With the policy TerminatingOrFailed, a deleted pod counts as failed while it terminates, and is replaced."""
    await job.submit(PodBehaviour(seconds=25, stop=20), podReplacementPolicy="TerminatingOrFailed")
    await job.needs_pods(1)
    await job.delete_pod(job.pods[0])
    await job.until("R11", "failed=1 was expected", lambda: job.status.get("failed") == 1)
    await job.until("R11", "a pod in its place was expected", lambda: job.record.made > 1)


@scenario(SCENARIOS, Level.COMPLETE, "ttlSecondsAfterFinished")
async def time_to_live(job: JobUnderTest) -> None:
    """A finished Job is deleted after its time to live, with its pods."""
    await job.submit(PodBehaviour(), ttlSecondsAfterFinished=2)
    await job.completes("CompletionsReached", succeeded=1)
    await job.is_gone("R15")


@scenario(SCENARIOS, Level.COMPLETE, "completions")
async def elastic(job: JobUnderTest) -> None:
    """An Indexed Job grows and shrinks while it runs, and is Complete with the indexes that it has then."""
    await job.submit(PodBehaviour(seconds=8), **_INDEXED, parallelism=2, completions=2)
    await job.has_active(2)
    await job.change(parallelism=4, completions=4)
    await job.has_active(4)
    await job.change(parallelism=3, completions=3)
    await job.has_active(3)
    await job.completes("CompletionsReached", succeeded=3, failed=0, completedIndexes="0-2")


@scenario(SCENARIOS, Level.COMPLETE, "template")
async def pods(job: JobUnderTest) -> None:
    """The pods of a Job have its labels, their index, the tracking finalizer and what the template says."""
    await job.submit(_LONG, **_INDEXED, parallelism=2, completions=2)
    await job.needs_pods(2)
    job.check_pods(indexed=True)
