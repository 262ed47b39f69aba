"""What the server fills in when a Job leaves it out.

Defaulting runs on every decode. A Job without labels takes those of its pod template, and it takes the very same map:
what is later generated into the template's labels shows up on the Job too. `share_labels` and `own_labels` reproduce
that.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.kinds.core.pod.defaults import default_pod_template
from jobrelay.kinds.strategy import Obj

BACKOFF_LIMIT: Final = 6
NO_BACKOFF_LIMIT: Final = 2**31 - 1


def default_job(job: Obj) -> None:
    spec = job["spec"]
    default_counts(spec)
    default_policy_conditions(spec)
    default_pod_template(spec["template"])
    share_labels(job)


def default_counts(spec: dict[str, Any]) -> None:
    if "parallelism" not in spec:
        if "completions" not in spec:
            spec["completions"] = 1
        spec["parallelism"] = 1
    if "backoffLimit" not in spec:
        spec["backoffLimit"] = NO_BACKOFF_LIMIT if "backoffLimitPerIndex" in spec else BACKOFF_LIMIT
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    if "podReplacementPolicy" not in spec:
        spec["podReplacementPolicy"] = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"


def default_policy_conditions(spec: dict[str, Any]) -> None:
    """Condition patterns of a pod failure policy default to status True."""
    policy = spec.get("podFailurePolicy")
    if policy is None:
        return
    for rule in policy["rules"] or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern["status"]:
                pattern["status"] = "True"


def share_labels(job: Obj) -> None:
    labels = job["spec"]["template"]["metadata"].get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = labels


def own_labels(job: Obj) -> None:
    """Ends the sharing: from here on the Job and its template have labels of their own."""
    labels = job["metadata"].get("labels")
    if labels is not None and labels is job["spec"]["template"]["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)
