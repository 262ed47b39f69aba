"""What the failure policy of a JobSet does about failed Jobs."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.regex import RegexError, compile_go
from jobrelay.apimachinery.times import parse_time
from jobrelay.cluster.controllers.jobset import names
from jobrelay.cluster.controllers.jobset.jobs import condition, label
from jobrelay.cluster.controllers.jobset.status import StatusDraft
from jobrelay.cluster.controllers.jobset.views import FailurePolicy, FailurePolicyRule, JobSet
from jobrelay.kinds.batch.job.names import FAILED

__all__ = ["UnsupportedAction", "apply_failure_policy"]

Obj = dict[str, Any]

_DEFAULT: Final = "RestartJobSet"
_UNCOUNTED: Final = "RestartJobSetAndIgnoreMaxRestarts"


class UnsupportedAction(ValueError):
    """The policy asks for something that JobSet does only behind a feature gate, or not at all."""


def apply_failure_policy(jobset: JobSet, failed: list[Obj], status: StatusDraft) -> None:
    """Fails the JobSet or begins a restart; raises UnsupportedAction."""
    policy = jobset.spec.failure_policy
    if policy is None:
        text = _with_job("jobset failed due to one or more job failures", _first(failed))
        status.fail("FailedJobs", text)
        return
    rule, job, reason = _matching(policy, failed)
    action = rule.action if rule is not None else _DEFAULT
    if action == "FailJobSet":
        status.fail("FailJobSetFailurePolicyAction", _with_job("applying FailJobSet failure policy action", job))
    elif action == _DEFAULT and jobset.restarts_towards_max >= policy.max_restarts:
        text = _with_job("jobset failed due to reaching max number of restarts", job)
        status.fail("ReachedMaxRestarts", text)
    elif action in (_DEFAULT, _UNCOUNTED):
        text = _with_job(f"applying {action} failure policy action", job)
        status.restart(action, reason, text, counts=action == _DEFAULT)
    else:
        raise UnsupportedAction(f"failure policy action {action} is not supported")


def _matching(policy: FailurePolicy, failed: list[Obj]) -> tuple[FailurePolicyRule | None, Obj, str]:
    """The first rule that applies to a failed Job, the first Job that it applies to, and the reason of a restart."""
    for index, rule in enumerate(policy.rules or ()):
        matched = [job for job in failed if _applies(rule, job)]
        if matched:
            return rule, _first(matched), f"FailurePolicy_{rule.name or f'failurePolicyRule{index}'}"
    return None, _first(failed), "DefaultFailurePolicy"


def _applies(rule: FailurePolicyRule, job: Obj) -> bool:
    failure = condition(job, FAILED) or {}
    parent = label(job, names.REPLICATED_JOB)
    reasons, patterns = rule.on_job_failure_reasons, rule.on_job_failure_message_patterns
    return (
        (not reasons or failure.get("reason") in reasons)
        and (not patterns or any(_matches(pattern, failure.get("message") or "") for pattern in patterns))
        and bool(parent)
        and (not rule.target_replicated_jobs or parent in rule.target_replicated_jobs)
    )


def _matches(pattern: str, message: str) -> bool:
    try:
        return bool(compile_go(pattern).search(message))
    except RegexError:
        return False


def _first(failed: list[Obj]) -> Obj:
    """The Job that failed first."""
    return min(failed, key=lambda job: parse_time((condition(job, FAILED) or {})["lastTransitionTime"]))


def _with_job(text: str, job: Obj) -> str:
    return f"{text} (first failed job: {job['metadata']['name']})"
