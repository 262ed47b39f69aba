"""batch/v1 Jobs: defaults, validation, and the rules for writes to their status."""
