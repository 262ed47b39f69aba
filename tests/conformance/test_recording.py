"""Recordings: what is written can be read, and so can what kubectl and API servers write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobrelay.conformance import Auditor, Level, RecordingError, record_line, replay

from .histories import Obj, history

TEMPLATE = {"spec": {"containers": [{"name": "c", "env": [{"name": "PASSWORD", "value": "secret"}]}]}}


def wrong_history() -> list[Obj]:
    """A Job whose failures are taken back at the end."""
    versions = next(each for each in map(history, range(100)) if each[-1]["status"].get("failed"))
    return [*versions, {**versions[-1], "status": {**versions[-1]["status"], "failed": 0}}]


def recorded(versions: list[Obj]) -> list[bytes]:
    lines = [record_line(f"t{number}", "MODIFIED", each) for number, each in enumerate(versions)]
    return [*lines, record_line("t99", "DELETED", versions[-1])]


def audited(verb: str, job: Obj, code: int = 200, **more: Any) -> bytes:
    """One event of an API server's audit log."""
    about = {"resource": "jobs", "apiGroup": "batch", "subresource": "status"}
    sent = {"kind": "Job", **job}
    event = {
        "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete", "verb": verb, "objectRef": about,
        "stageTimestamp": "now", "responseStatus": {"code": code}, "requestObject": sent,
        "responseObject": sent if code < 300 else {"kind": "Status"}, **more,
    }  # fmt: skip
    return json.dumps(event).encode() + b"\n"


def test_a_recording_is_audited_like_the_cluster_it_was_made_of() -> None:
    auditor = Auditor()
    found = list(replay(recorded(wrong_history()), auditor))
    assert [(each.rule.name, each.time[0]) for each in found] == [("S29", "t")]
    assert (auditor.violations, auditor.summary()[0]["violations"]) == (1, {"S29": 1})


def test_a_recording_has_no_templates() -> None:
    job = {"metadata": {"name": "j", "labels": {"a": "b"}}, "spec": {"completions": 1, "template": TEMPLATE}}
    kept = json.loads(record_line("now", "ADDED", job))["object"]
    assert kept == {"metadata": {"name": "j", "managedFields": []}, "spec": {"completions": 1}, "status": {}}


def test_watch_events_as_kubectl_prints_them_are_read() -> None:
    events = [{"type": "MODIFIED", "object": {"kind": "Job", **each}} for each in wrong_history()]
    text = "\n".join(json.dumps(each, indent=4) for each in events)
    lines = [line.encode() + b"\n" for line in text.splitlines()]
    assert [each.rule.name for each in replay(lines, Auditor())] == ["S29"]


def test_an_audit_log_shows_what_was_refused() -> None:
    *right, wrong = wrong_history()
    auditor = Auditor()
    lines = [audited("create", right[0]), *(audited("update", each) for each in right), audited("update", wrong, 422)]
    found = list(replay(lines, auditor))
    assert [(each.rule.name, each.refused) for each in found] == [("S29", True)]
    assert list(replay([audited("update", right[-1])], auditor)) == []


def test_requests_about_other_things_are_left_out() -> None:
    job = history(1)[-1]
    pods = {"objectRef": {"resource": "pods", "apiGroup": ""}}
    lines = [audited("update", job, **pods), audited("get", job), audited("update", job, stage="RequestReceived")]
    auditor = Auditor()
    assert list(replay(lines, auditor)) == []
    assert auditor.steps == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"hello\n", "line 1: not JSON"),
        (b'{"type": "MODIFIED",\n', "the last document is not complete"),
        (b'{"kind": "Job"}\n', "neither a watch event nor an event of an audit log"),
        (b'{"type": "MODIFIED", "object": {"spec": {}}}\n', "line 1: not a Job"),
        (b'{"type": "MODIFIED", "object": 3}\n', "line 1: not a Job"),
        (b"[1]\n", "line 1: not JSON|not a Job"),
    ],
)
def test_a_file_of_another_kind_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(RecordingError, match=problem):
        list(replay(text.splitlines(keepends=True), Auditor()))


@pytest.mark.parametrize(("level", "rules"), [(Level.OBSERVES, []), (Level.COMPLETE, ["C1"])])
def test_an_end_that_was_not_announced_is_found_only_by_the_strictest(level: Level, rules: list[str]) -> None:
    versions = history(3)
    lines = recorded([*versions[:-2], versions[-1]])
    assert [each.rule.name for each in replay(lines, Auditor(level))] == rules


def test_steps_and_violations_are_metrics() -> None:
    auditor = Auditor()
    list(replay(recorded(wrong_history()), auditor))
    samples = {each.name: each.value for metric in auditor.collect() for each in metric.samples}
    assert samples["jobrelay_conformance_violations_total"] == 1
    assert samples["jobrelay_conformance_steps_total"] == auditor.steps > 3
