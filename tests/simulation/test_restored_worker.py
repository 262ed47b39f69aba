"""A worker that is restored from a backup, and gets further than its versions were before anyone has looked."""

from __future__ import annotations

import pytest

from jobrelay.simulation import ApiServerKind, Incident, JobPlan, Schedule, play

PASSED = Schedule(
    2943,
    2,
    (JobPlan("job-3", at=19.31582964522518, seconds=90, fenced=False),),
    (
        Incident(37.02695019738574, "restore-worker", "worker-1", 5.702570649531545),
        Incident(38.70532948700133, "drain", "worker-1", 35.76113521038431),
    ),
    ApiServerKind.MODEL,
)
"""The worker's own controllers and nodes watch on as if nothing had happened."""

LATE_REPLY = Schedule(
    2748,
    2,
    (
        JobPlan("job-1", at=13.641149612856728, seconds=90, fenced=False),
        JobPlan("job-2", at=16.915300528262442, seconds=30, fenced=False, stop=5.0),
    ),
    (
        Incident(23.314018187088504, "restore", "management", 68.19793714213944),
        Incident(76.85876070770337, "drain-late", "worker-2", 16.111876565641992),
        Incident(87.7489657214573, "restore-worker", "worker-2", 6.6501450818210035),
    ),
    ApiServerKind.MODEL,
)
"""The answer to a creation arrives after the worker was restored to a state from before it."""


@pytest.mark.parametrize("schedule", [PASSED, LATE_REPLY], ids=["passed", "late-reply"])
def test_what_a_restore_undid_is_noticed(schedule: Schedule) -> None:
    outcome = play(schedule)
    assert outcome.broken == [], "\n".join(outcome.story)


def test_people_leave_the_jobs_of_tenants_alone() -> None:
    deeds = tuple(
        Incident(20.0 + number, kind, "worker-1")
        for number, kind in enumerate(("look-alike", "delete-mirror", "orphan-mirror", "edit-mirror", "unmark-mirror"))
    )
    for seed in range(4):
        outcome = play(Schedule(seed, 1, (JobPlan("job-1", 5, 90, fenced=False),), deeds, ApiServerKind.MODEL))
        assert "own-only" not in outcome.promises, "\n".join(outcome.story)
