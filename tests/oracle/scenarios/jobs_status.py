"""The Job status rules S1 to S34: each broken alone, several at once, and the legal ways through them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import JSON_PATCH, STRATEGIC, Scenario, Step, apply, get, patch, post, put, scenario
from ._objects import JOBS, job, metadata

STATUS = f"{JOBS}/j/status"
T1, T2, T3 = "2024-01-01T00:00:00Z", "2024-01-01T00:10:00Z", "2024-01-01T00:20:00Z"
INDEXED = {"completionMode": "Indexed", "completions": 5, "parallelism": 2, "backoffLimitPerIndex": 1}
ELASTIC = {"completionMode": "Indexed", "completions": 5, "parallelism": 5}


def _true(*types: str, status: str = "True") -> list[dict[str, Any]]:
    return [{"type": t, "status": status, "lastProbeTime": T1, "lastTransitionTime": T1} for t in types]


COMPLETE = {"startTime": T1, "completionTime": T2, "active": 0, "conditions": _true("SuccessCriteriaMet", "Complete")}
FAILED = {"startTime": T1, "active": 0, "conditions": _true("FailureTarget", "Failed")}

SINGLE: list[dict[str, Any]] = [
    {"active": -1},
    {"succeeded": -1},
    {"failed": -1},
    {"ready": -1},
    {"terminating": -1},
    {"uncountedTerminatedPods": {"succeeded": [""]}},
    {"uncountedTerminatedPods": {"failed": ["a", ""]}},
    {"uncountedTerminatedPods": {"succeeded": ["a", "a"]}},
    {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b", "a"]}},
    {**COMPLETE, "conditions": _true("Complete", "Failed")},
    {**COMPLETE, "conditions": _true("Complete", "FailureTarget")},
    {"completionTime": T2},
    {**COMPLETE, "completionTime": None},
    {"startTime": T2, "completionTime": T1, "conditions": _true("Complete", "SuccessCriteriaMet")},
    {"startTime": T1, "conditions": _true("Failed")},
    {**COMPLETE, "conditions": _true("Complete")},
    {**COMPLETE, "active": 1},
    {**COMPLETE, "startTime": None},
    {**FAILED, "startTime": None},
    {**COMPLETE, "uncountedTerminatedPods": {"succeeded": ["a"]}},
    {"completedIndexes": "0"},
    {"failedIndexes": "0"},
    {"failedIndexes": ""},
    {**FAILED, "terminating": 1},
    {"ready": 2, "active": 1},
    {"ready": 1},
    {"conditions": _true("SuccessCriteriaMet", "Failed"), "startTime": T1},
    {"conditions": _true("SuccessCriteriaMet", "FailureTarget")},
    {"conditions": [{"type": "Complete", "status": "Bad"}]},
    {"conditions": [{"type": ""}]},
    {"conditions": _true("Custom")},
    {"conditions": _true("Custom", "Custom")},
    {"conditions": [{"type": "Complete", "status": "False"}]},
    {"active": "1"},
    {"startTime": "yesterday"},
    {"active": -1, "succeeded": -1, "failed": -1, "ready": -2, "terminating": -1},
    {"conditions": _true("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")},
    {
        "conditions": _true("Complete", "Failed"),
        "active": 2,
        "ready": 3,
        "terminating": 1,
        "completedIndexes": "x",
        "failedIndexes": "y",
    },
]
INDEX_TEXTS = [
    "0",
    "0-2",
    "0,2,4",
    "5",
    "0-9",
    "2,1",
    "1,1",
    "1-1",
    "2-1",
    "a",
    "0-1-2",
    "",
    "0,",
    "-1",
    " 1",
    "0-a",
    "1,a-b",
    "99999999999",
    "0-2,3-4",
    "+1",
    "01",
]


def _alone(cases: list[dict[str, Any]], spec: dict[str, Any] | None = None) -> Iterator[Step]:
    """Every case on a Job of its own, so that an accepted one does not colour the next."""
    for number, status in enumerate(cases):
        yield post(JOBS, job(f"s{number}", **(spec or {})))
        yield patch(f"{JOBS}/s{number}/status", {"status": status})


def _sequence(*statuses: dict[str, Any], **spec: Any) -> list[Step]:
    return [post(JOBS, job(**spec)), *(patch(STATUS, {"status": status}) for status in statuses), get(f"{JOBS}/j")]


def _writes() -> list[Step]:
    running = {"startTime": T1, "active": 1, "ready": 0}
    return [
        post(JOBS, job(), capture={"rv": "metadata.resourceVersion"}),
        get(STATUS),
        put(STATUS, {**job(parallelism=9), "status": running}),
        put(
            STATUS,
            metadata({**job(), "status": {**running, "ready": 1}}, labels={"from": "status"}, annotations={"a": "b"}),
        ),
        put(STATUS, metadata({**job(), "status": running}, resourceVersion="{{rv}}")),
        put(STATUS, {"metadata": {"name": "j"}, "status": running}),
        put(STATUS, job()),
        patch(STATUS, [{"op": "add", "path": "/status", "value": running}], JSON_PATCH),
        patch(STATUS, [{"op": "replace", "path": "/status/active", "value": 2}], JSON_PATCH),
        patch(STATUS, {"status": {"conditions": _true("A")}}, STRATEGIC),
        patch(STATUS, {"status": {"conditions": _true("B")}}, STRATEGIC),
        patch(STATUS, {"status": {"conditions": [{"type": "A", "$patch": "delete"}]}}, STRATEGIC),
        patch(STATUS, {"metadata": {"finalizers": ["example.com/f"], "labels": {"x": "y"}}}),
        patch(STATUS, {"metadata": {"resourceVersion": "{{rv}}"}, "status": {"active": 1}}),
        patch(STATUS, {"spec": {"parallelism": 7, "managedBy": None}, "status": {"active": 1}}),
        patch(STATUS + "?dryRun=All", {"status": {"active": 5}}),
        patch(STATUS, {"status": None}),
        patch(STATUS, {"status": {"colour": "red"}}),
        patch(STATUS + "?fieldValidation=Strict", {"status": {"colour": "red"}}),
        patch(f"{JOBS}/j", {"status": {"active": 8}}),
        apply(
            STATUS,
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "j"},
                "status": {"active": 3, "conditions": _true("X")},
            },
        ),
        apply(
            STATUS,
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "status": {"active": 4}},
            "other",
        ),
        apply(
            STATUS,
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "status": {"active": 4}},
            "other",
            True,
        ),
        apply(
            STATUS,
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "j"},
                "spec": {"parallelism": 2},
                "status": {},
            },
        ),
        apply(
            f"{JOBS}/missing/status",
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "missing"}, "status": {"active": 4}},
        ),
        post(STATUS, job()),
        patch(f"{JOBS}/none/status", {"status": {}}),
        get(f"{JOBS}/none/status"),
        Step("DELETE", STATUS),
        get(f"{JOBS}/j"),
    ]


def scenarios() -> Iterator[Scenario]:
    yield scenario("jobs-status-single", _alone(SINGLE))
    yield scenario("jobs-status-single-indexed", _alone(SINGLE, INDEXED))
    yield scenario(
        "jobs-status-completed-indexes", _alone([{"completedIndexes": text} for text in INDEX_TEXTS], INDEXED)
    )
    yield scenario("jobs-status-failed-indexes", _alone([{"failedIndexes": text} for text in INDEX_TEXTS], INDEXED))
    overlaps = [
        ("0-2", "2"),
        ("0,3", "1-4"),
        ("0-1", "2-3"),
        ("x,1", "1"),
        ("0-4", "0-4"),
        ("1,3", "3,4"),
        ("", "1"),
        ("4", "0-9"),
    ]
    yield scenario(
        "jobs-status-overlap", _alone([{"completedIndexes": c, "failedIndexes": f} for c, f in overlaps], INDEXED)
    )
    yield scenario("jobs-status-writes", _writes())
    gone = {"conditions": None}
    yield scenario(
        "jobs-status-complete",
        _sequence(
            COMPLETE,
            {"conditions": _true("SuccessCriteriaMet")},
            gone,
            {"completionTime": T3},
            {"completionTime": None},
            {"active": 1},
            {"startTime": T2},
            {"startTime": None},
            {"conditions": _true("Complete")},
            {"conditions": _true("SuccessCriteriaMet", "Complete", "Failed")},
            {"conditions": _true("SuccessCriteriaMet", "Complete", status="False")},
            {"terminating": 1},
            {"ready": 1},
            {"succeeded": 3},
            {"succeeded": 1},
            {"uncountedTerminatedPods": {"failed": ["x"]}},
            {"uncountedTerminatedPods": {}},
            {"failed": 2},
            {"failed": 1},
        ),
    )
    yield scenario(
        "jobs-status-failed",
        _sequence(
            {"conditions": _true("FailureTarget"), "startTime": T1, "active": 1},
            {**FAILED, "terminating": 1},
            FAILED,
            gone,
            {"conditions": _true("FailureTarget")},
            {"conditions": _true("Failed")},
            {"conditions": _true("FailureTarget", "Failed", "Complete")},
            {"completionTime": T2},
            {"active": 1},
            {"conditions": _true("FailureTarget", "Failed", status="Unknown")},
            {"failed": 3},
            {"failed": 2},
        ),
    )
    yield scenario(
        "jobs-status-start-time",
        _sequence(
            {"startTime": T2},
            {"startTime": T1},
            {"startTime": None},
            {"startTime": T2, "completionTime": T1},
            {"conditions": _true("Suspended")},
            {"conditions": _true("Suspended", status="False"), "startTime": T3},
            {"startTime": T1},
        ),
    )
    yield scenario(
        "jobs-status-start-time-suspended",
        _sequence({"startTime": T2}, {"startTime": T1}, {"startTime": None}, suspend=True),
    )
    yield scenario(
        "jobs-status-suspended-zero",
        _sequence(
            {"conditions": _true("SuccessCriteriaMet", "Complete"), "completionTime": T2},
            {"startTime": T1},
            suspend=True,
            completions=0,
        ),
    )
    yield scenario(
        "jobs-status-counters",
        _sequence(
            {"failed": 5, "succeeded": 5},
            {"failed": 4},
            {"succeeded": 4},
            {"failed": 6, "succeeded": 6},
            {"failed": None},
        ),
    )
    yield scenario(
        "jobs-status-counters-indexed",
        _sequence(
            {"succeeded": 3, "completedIndexes": "0-2"},
            {"succeeded": 2, "completedIndexes": "0,1"},
            {"completedIndexes": "0-9"},
            **INDEXED,
        ),
    )
    yield scenario(
        "jobs-status-counters-elastic",
        _sequence({"succeeded": 3, "completedIndexes": "0-2"}, {"succeeded": 2}, **ELASTIC),
    )
    policy = {"successPolicy": {"rules": [{"succeededCount": 1}]}}
    yield scenario(
        "jobs-status-success-policy",
        [
            *_sequence(
                {**COMPLETE, "conditions": _true("Complete")},
                {"conditions": _true("SuccessCriteriaMet")},
                {"conditions": _true("FailureTarget")},
                gone,
                {**COMPLETE, "conditions": _true("Complete")},
                COMPLETE,
                **INDEXED,
                **policy,
            )
        ],
    )
    yield scenario(
        "jobs-status-uncounted",
        _sequence(
            {"uncountedTerminatedPods": {}},
            {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b"]}},
            {"uncountedTerminatedPods": None},
            {"uncountedTerminatedPods": {"succeeded": []}},
            {"ready": 0, "terminating": 0},
            {"ready": None, "terminating": None},
        ),
    )
