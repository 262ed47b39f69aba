"""Queues of workloads: who gets quota, and when, by the rules of Kueue 0.19.2.

`core/` decides, without I/O: admission is a pure function of a snapshot of quotas and usage, the pending workloads and
the time.
"""

from __future__ import annotations
