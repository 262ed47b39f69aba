"""The pod failure policy: what the failure of a pod means for its Job.

Rules are tried in order and the first that matches applies. Without a policy, or without a match, a failure counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jobrelay.cluster.controllers.job.pods import is_failed
from jobrelay.cluster.controllers.job.views import (
    ConditionPattern,
    ContainerStatus,
    ExitCodes,
    Job,
    Pod,
    PodCondition,
    PodFailurePolicyRule,
)

_ACTIONS = ("Ignore", "FailIndex", "Count", "FailJob")


class PodFailureMatch(NamedTuple):
    """Whether a failure counts, the action that applies, and why the whole Job must fail if it must."""

    counts: bool = True
    action: str = ""
    fail_job: str | None = None


COUNTS = PodFailureMatch()


def match_failure(job: Job, pod: Pod) -> PodFailureMatch:
    """Matches a failed pod against the policy."""
    policy = job.spec.pod_failure_policy
    for number, rule in enumerate(policy.rules if policy else ()):
        matched = _matched(rule, pod)
        if matched is not None and rule.action in _ACTIONS:
            message = f"{matched} matching FailJob rule at index {number}" if rule.action == "FailJob" else None
            return PodFailureMatch(rule.action != "Ignore", rule.action, message)
    return COUNTS


def fail_job_message(job: Job, pods: Iterable[Pod]) -> str | None:
    """Why the Job must fail because of one of its failed pods, if it must."""
    if job.spec.pod_failure_policy is None:
        return None
    messages = (match_failure(job, pod).fail_job for pod in pods if is_failed(pod, job))
    return next((message for message in messages if message is not None), None)


def _matched(rule: PodFailurePolicyRule, pod: Pod) -> str | None:
    """What about the pod matches the rule, as text."""
    where = f"{pod.metadata.namespace}/{pod.name}"
    if rule.on_exit_codes is not None:
        container = _container(pod, rule.on_exit_codes)
        if container is None or container.state.terminated is None:
            return None
        return (
            f"Container {container.name} for pod {where} failed with exit code {container.state.terminated.exit_code}"
        )
    condition = _condition(pod, rule.on_pod_conditions)
    return None if condition is None else f"Pod {where} has condition {condition.type}"


def _container(pod: Pod, wanted: ExitCodes) -> ContainerStatus | None:
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        terminated = status.state.terminated
        if terminated is None or terminated.exit_code == 0 or wanted.container_name not in (None, status.name):
            continue
        listed = terminated.exit_code in wanted.values
        if (wanted.operator == "In" and listed) or (wanted.operator == "NotIn" and not listed):
            return status
    return None


def _condition(pod: Pod, patterns: tuple[ConditionPattern, ...]) -> PodCondition | None:
    wanted = {(one.type, one.status) for one in patterns}
    return next((one for one in pod.status.conditions if (one.type, one.status) in wanted), None)
