"""Queues with Kueue's API: quotas, admission and fair sharing without Kueue.

`core` decides, from values alone, which of the pending workloads get quota. Everything else here brings Kueue's objects
to it, and its decisions to them: `definitions` are the kinds, `reading` turns objects into values, `integrations` make
Workloads of queued objects, `admitting` runs cycles of the core, `statuses` says what queues hold.
"""

from __future__ import annotations
