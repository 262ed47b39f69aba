"""The timeline of a workload: object, conditions and events in the order of time, with durations."""

from __future__ import annotations

from typing import Any

from jobrelay.cli.describe import description_lines
from jobrelay.kube.objects import decode_object, encode
from jobrelay.sdk.timeline import timeline
from jobrelay.workloads import JobAdapter
from tests.relay.fleets import job


def train(**status: Any) -> Any:
    body = job(annotations={"jobrelay.dev/assignment": '{"cluster":"a","epoch":1,"since":"2026-01-01T00:00:02Z"}'})
    body["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return decode_object(encode(body | {"status": status}))


def condition(kind: str, second: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": "True", "lastTransitionTime": f"2026-01-01T00:00:{second:02}Z", **more}


def test_everything_is_in_the_order_of_time_with_the_time_since_the_last() -> None:
    placed = {"reason": "Placed", "message": "it has room", "type": "Normal", "lastTimestamp": "2026-01-01T00:00:01Z"}
    obj = train(startTime="2026-01-01T00:00:04Z", conditions=[condition("Complete", 34, reason="Done")])
    found = timeline(JobAdapter(), obj, [placed])
    assert [(each.after, each.what) for each in found] == [
        (None, "created"),
        (1.0, "Placed: it has room"),
        (1.0, "assigned to a (run 1)"),
        (2.0, "started"),
        (30.0, "Complete: Done"),
    ]


def test_durations_fit_the_seconds_that_are_shown() -> None:
    """Events have fractions of seconds, objects have none."""
    event = {"reason": "Placed", "message": "", "type": "Normal", "eventTime": "2026-01-01T00:00:01.900000Z"}
    found = timeline(JobAdapter(), train(startTime="2026-01-01T00:00:03Z"), [event])
    assert [(each.time.second, each.after) for each in found] == [(0, None), (1, 1.0), (2, 1.0), (3, 1.0)]


def test_what_happened_in_one_second_is_in_the_order_of_a_workload_s_life() -> None:
    event = {"reason": "Placed", "message": "", "type": "Normal", "eventTime": "2026-01-01T00:00:02.500000Z"}
    obj = train(conditions=[condition("Complete", 2)])
    assert [each.what for each in timeline(JobAdapter(), obj, [event])] == [
        "created", "assigned to a (run 1)", "Complete", "Placed: ",
    ]  # fmt: skip


def test_repeated_events_and_warnings_are_said_to_be_so() -> None:
    event = {"reason": "NotPlaced", "message": "full", "type": "Warning", "eventTime": "2026-01-01T00:00:09.000000Z"}
    found = timeline(JobAdapter(), train(), [event | {"series": {"count": 3}}])
    assert found[-1].what == "Warning: NotPlaced: full (3 times)"


def test_what_has_no_time_or_is_not_true_is_left_out() -> None:
    odd = [condition("A", 5) | {"status": "False"}, condition("B", 5) | {"lastTransitionTime": None}]
    found = timeline(JobAdapter(), train(conditions=odd), [{"metadata": {}, "reason": "x", "message": "y"}])
    assert [each.what for each in found] == ["created", "assigned to a (run 1)"]


def test_the_text_has_one_line_for_each_moment() -> None:
    moments = [
        {"time": "2026-01-01T00:00:00Z", "afterSeconds": None, "what": "created"},
        {"time": "2026-01-01T00:05:00Z", "afterSeconds": 300.0, "what": "started"},
    ]
    found = {"kind": "Job", "namespace": "a", "name": "train", "status": "Running", "cluster": "west", "run": 2}
    assert list(description_lines(found | {"timeline": moments})) == [
        "job/train in a: Running on west (run 2), 5m from first to last",
        "",
        "  2026-01-01T00:00:00Z           created",
        "  2026-01-01T00:05:00Z      +5m  started",
    ]
