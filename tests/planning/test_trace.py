"""Traces: columns, times, and errors that name line and column."""

from __future__ import annotations

import pytest

from jobrelay.planning import PlanError, parse_trace

HEAD = "submit,duration,namespace,cpu,pods,completions,clusters,preferred,selector"


def test_jobs_are_sorted_by_their_creation() -> None:
    jobs = list(parse_trace(["submit,duration,name", "1m,2m,late", "0.5,1h,early"]))
    assert [(job.name, job.submit, job.duration) for job in jobs] == [("early", 0.5, 3600), ("late", 60, 120)]


def test_times_of_day_count_from_the_first() -> None:
    jobs = list(parse_trace(["submit,duration", "2026-01-01T10:00:30Z,1", "2026-01-01T10:00:00Z,1"]))
    assert [job.submit for job in jobs] == [0, 30]


def test_what_a_job_needs_is_what_the_adapter_reads() -> None:
    (job,) = parse_trace([HEAD, '0,1,team,500m,4,9,"a,b",c,zone=x'])
    (pods,) = job.shape.demand.pod_sets
    assert (pods.count, job.shape.completions, job.shape.namespace) == (4, 9, "team")
    assert job.shape.requests == (("cpu", 500), ("pods", 1000))
    assert (job.shape.request.pinned, job.shape.request.preferred) == (("a", "b"), ("c",))
    assert str(job.shape.request.selector) == "zone=x"


def test_jobs_that_are_alike_share_a_shape() -> None:
    one, two, other = parse_trace(["submit,duration,cpu", "0,1,1", "1,2,1", "2,3,2"])
    assert one.shape is two.shape
    assert one.shape is not other.shape


@pytest.mark.parametrize(
    ("lines", "message", "hint"),
    [
        ([], "line 1: there is no column submit", "submit,duration"),
        (["submit,duration,cpus", "0,1,1"], "line 1: no column is called 'cpus'", "did you mean cpu?"),
        (["submit,duration,submit", "0,1,1"], "line 1: there are two columns 'submit'", ""),
        (["submit,duration"], "has no Jobs", "one line for each Job"),
        (["submit,duration", "0,1", "0"], "line 3: it has 1 cells, but the heading has 2", "quotes"),
        (["submit,duration", "0,soon"], "line 2, column duration: 'soon' is neither", "how long each pod runs"),
        (["submit,duration", "-1,1"], "line 2, column submit: '-1' is not a time from 0 on", "seconds"),
        (["submit,duration", ",1"], "line 2, column submit: it is empty", "seconds"),
        (["submit,duration", "0,1", "2026-01-01T00:00:00Z,1"], "line 2, column submit: times and seconds", "same way"),
        (["submit,duration,pods", "0,1,0"], "line 2, column pods: '0' is not a number of pods", "as in 4"),
        (["submit,duration,memory", "0,1,4GB"], "line 2, column memory: '4GB' is not a quantity", "4Gi"),
        (["submit,duration,namespace", "0,1,A"], "line 2, column namespace: 'A' is not a namespace", "team-a"),
        (["submit,duration,clusters", "0,1,A_"], "line 2, column clusters: annotation", "worker names"),
        (["submit,duration,preferred", "0,1,A_"], "line 2, column preferred: annotation", "worker names"),
        (["submit,duration,selector", "0,1,a=(b"], "line 2, column selector: annotation", "label selector"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_column(lines: list[str], message: str, hint: str) -> None:
    with pytest.raises(PlanError) as found:
        parse_trace(lines, "jobs.csv")
    assert f"jobs.csv, {message}" in str(found.value) or message in str(found.value)
    assert hint in found.value.hint
