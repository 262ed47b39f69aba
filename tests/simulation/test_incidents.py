"""Every kind of incident happens, and is over at the end; some of them do what only they can do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobrelay.simulation import INCIDENTS, ApiServerKind, Incident, JobPlan, Schedule, draw, name_part, play, take_part

JOB = JobPlan("job-1", at=3, seconds=20, fenced=False)


def drawn(kind: str) -> Incident:
    """The first incident of a kind that is drawn, while the Job runs."""
    found = next(incident for seed in range(20) for incident in draw(seed, [kind]).incidents)
    target = found.target.replace("worker-3", "worker-2")
    return Incident(8, kind, target, min(found.seconds, 15.0), found.amount)


@pytest.mark.parametrize("kind", sorted(INCIDENTS))
def test_an_incident_happens_and_breaks_nothing_if_it_is_in_the_default_mix(kind: str) -> None:
    outcome = play(Schedule(2, 2, (JOB,), (drawn(kind),)))
    assert any(f"  {kind} " in line for line in outcome.story)
    assert outcome.broken == [], "\n".join(outcome.story)


@pytest.mark.parametrize("worker", ["worker-1", "worker-2"])
def test_a_wiped_worker_gets_its_job_again(worker: str) -> None:
    outcome = play(Schedule(4, 2, (JOB,), (Incident(8, "wipe", worker),)))
    assert outcome.broken == [], "\n".join(outcome.story)


def test_the_management_cluster_goes_back_and_the_relay_notices() -> None:
    outcome = play(Schedule(5, 2, (JOB,), (Incident(1, "restore", "management", 12),)))
    assert "nothing-lost" not in outcome.promises, "\n".join(outcome.story)


@pytest.mark.parametrize("seed", range(4))
def test_people_leave_the_jobs_of_tenants_alone(seed: int) -> None:
    kinds = ("look-alike", "delete-mirror", "orphan-mirror", "edit-mirror", "unmark-mirror")
    deeds = tuple(Incident(20.0 + number, kind, "worker-1") for number, kind in enumerate(kinds))
    outcome = play(Schedule(seed, 1, (replace(JOB, seconds=90),), deeds, ApiServerKind.MODEL))
    assert "own-only" not in outcome.promises, "\n".join(outcome.story)


def test_a_part_of_a_schedule_has_a_name() -> None:
    whole = next(found for seed in range(50) if len((found := draw(seed)).incidents) > 2 and len(found.jobs) > 1)
    part = replace(whole, jobs=whole.jobs[1:2], incidents=whole.incidents[::2])
    assert take_part(whole, name_part(whole, part)) == part


@pytest.mark.parametrize("name", ["9", "1/99", "0", "x"])
def test_a_part_that_there_is_not(name: str) -> None:
    with pytest.raises(ValueError, match=r"not among|invalid literal"):
        take_part(draw(1), name)
