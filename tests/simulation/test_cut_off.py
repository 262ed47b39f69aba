"""All workers vanish at once for less than the timeout, and one of them is found again before the other."""

from __future__ import annotations

from jobrelay.simulation import ApiServerKind, Incident, JobPlan, Schedule, play


def test_nothing_moves_while_workers_return_from_one_outage() -> None:
    outcome = play(
        Schedule(
            5712,
            2,
            (
                JobPlan("job-1", at=26.31890255839082, seconds=0.5, fenced=False),
                JobPlan("job-2", at=30.38427686947091, seconds=90, fenced=False, stop=5.0),
            ),
            (
                Incident(32.35534154261626, "cut-off", "worker-0", 47.40345240383439),
                Incident(75.65876284523158, "stale-leader", "worker-1", 110.21779329757463),
            ),
            ApiServerKind.MODEL,
        )
    )
    assert outcome.broken == [], "\n".join(outcome.story)
