"""Synthetic traces: drawn from a seed, to the load that is asked for."""

from __future__ import annotations

import pytest

from jobrelay.planning import PlanError, SyntheticTrace, parse_synthetic

from .making import NODE, fleet

FLEET = fleet("a", "b", nodes=[NODE | {"count": 50}])


def test_each_iteration_draws_the_same_jobs() -> None:
    trace = SyntheticTrace(parse_synthetic("jobs=50,seed=1"), FLEET)
    assert (len(trace), len(list(trace))) == (50, 50)
    assert list(trace) == list(trace)


def test_jobs_need_the_load_that_is_asked_for() -> None:
    jobs = list(SyntheticTrace(parse_synthetic("jobs=20000,load=0.5,seed=2"), FLEET))
    work = sum(job.duration * job.shape.cpu * job.shape.completions for job in jobs)
    assert work / jobs[-1].submit / float(FLEET.total("cpu")) == pytest.approx(0.5, rel=0.1)


def test_a_rate_is_jobs_per_second() -> None:
    jobs = list(SyntheticTrace(parse_synthetic("jobs=5000,rate=2"), FLEET))
    assert len(jobs) / jobs[-1].submit == pytest.approx(2, rel=0.1)


def test_pods_fit_on_the_largest_node_and_belong_to_namespaces() -> None:
    jobs = list(SyntheticTrace(parse_synthetic("jobs=500,namespaces=3,templates=30"), FLEET))
    assert max(job.shape.cpu for job in jobs) <= 4
    assert {job.shape.namespace for job in jobs} == {"team-1", "team-2", "team-3"}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("job=1", "'job' is none of jobs", "did you mean jobs?"),
        ("jobs=many", "'many' is not a number", "--synthetic jobs="),
        ("jobs=10,load=0", "'0' is not above 0", ""),
        ("", "'' is none of", "--synthetic jobs="),
    ],
)
def test_a_spec_that_is_wrong_is_an_error(text: str, message: str, hint: str) -> None:
    with pytest.raises(PlanError, match=message) as found:
        parse_synthetic(text)
    assert hint in found.value.hint
