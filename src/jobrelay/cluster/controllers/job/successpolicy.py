"""The success policy: which succeeded indexes are enough for an Indexed Job."""

from __future__ import annotations

from jobrelay.cluster.controllers.job.views import Job, SuccessRule
from jobrelay.kinds.batch.job.indexes import Indexes


def matched_rule(job: Job, succeeded: Indexes) -> str | None:
    """Says which rule is met, if one is; needs at least one succeeded index."""
    policy = job.spec.success_policy
    if policy is None or not succeeded:
        return None
    met = (number for number, rule in enumerate(policy.rules) if _is_met(rule, job.completions, succeeded))
    number = next(met, None)
    return None if number is None else f"Matched rules at index {number}"


def _is_met(rule: SuccessRule, completions: int, succeeded: Indexes) -> bool:
    if rule.succeeded_indexes is None:
        return rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count
    wanted = Indexes.parse(rule.succeeded_indexes, completions)
    if not wanted:
        return False
    common = wanted.common(succeeded)
    return common == len(wanted) or (rule.succeeded_count is not None and common >= rule.succeeded_count)
