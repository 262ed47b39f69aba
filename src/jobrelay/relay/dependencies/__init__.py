"""What workloads need beside themselves: which of it workers have, and copies of what they lack."""

from __future__ import annotations
