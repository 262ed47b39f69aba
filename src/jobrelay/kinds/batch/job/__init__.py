"""batch/v1 Jobs: defaults, validation, and the rules for writes to their status."""

from jobrelay.kinds.batch.job.indexes import IndexesError, parse_indexes
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
from jobrelay.kinds.batch.job.status import RULES, StatusRule, broken_rules, validate_job_status_update
from jobrelay.kinds.batch.job.strategy import STRATEGIES
from jobrelay.kinds.batch.job.validation import managed_by_errors

__all__ = [
    "BUILT_IN_CONTROLLER", "RULES", "STRATEGIES", "IndexesError", "StatusRule", "broken_rules",
    "managed_by_errors", "parse_indexes", "validate_job_status_update",
]  # fmt: skip
