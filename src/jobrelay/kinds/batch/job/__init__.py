"""batch/v1 Jobs: defaults, checks, and the rules for what may be said about their status."""

from jobrelay.kinds.batch.job.indexes import IndexesError, parse_indexes
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
from jobrelay.kinds.batch.job.status import RULES, Rule, broken_rules, validate_job_status_update
from jobrelay.kinds.batch.job.strategy import STRATEGIES
from jobrelay.kinds.batch.job.validation import managed_by_errors
from jobrelay.kinds.batch.job.write import is_condition, is_job_finished

__all__ = [
    "BUILT_IN_CONTROLLER", "RULES", "STRATEGIES", "IndexesError", "Rule", "broken_rules",
    "is_condition", "is_job_finished", "managed_by_errors", "parse_indexes", "validate_job_status_update",
]  # fmt: skip
