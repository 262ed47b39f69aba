"""Counting the writes that API servers have noted."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from bench.multikueue.audit import Write, count, per_job, read


def entry(
    verb: str,
    resource: str,
    subresource: str = "",
    *,
    user: str = "admin",
    agent: str = "kueue/v1 (linux)",
    code: int = 200,
) -> dict[str, Any]:
    what = {"resource": resource, "subresource": subresource}
    status = {"code": code}
    return {"verb": verb, "objectRef": what, "user": {"username": user}, "userAgent": agent, "responseStatus": status}


def test_writes_are_counted_by_who_what_and_the_kind_of_error() -> None:
    found = count(
        [entry("patch", "jobs", "status"), entry("patch", "jobs", "status"), entry("create", "jobs", code=409)]
    )
    assert found == {Write("kueue", "patch", "jobs/status"): 2, Write("kueue", "create", "jobs", 409): 1}


def test_leases_do_not_count_and_events_only_if_asked_for() -> None:
    found = count([entry("update", "leases"), entry("create", "events"), entry("create", "jobs")])
    assert (per_job(found, 1), per_job(found, 1, events=True)) == (1, 2)


def test_another_user_is_told_from_programs_of_the_administrator() -> None:
    found = count([entry("create", "jobs", user="other"), entry("create", "pods", agent="jobrelay")])
    assert sorted(each.who for each in found) == ["jobrelay", "other"]


def test_a_log_is_read_from_a_position_and_without_a_line_that_is_being_written(tmp_path: pathlib.Path) -> None:
    log, lines = tmp_path / "audit.log", [json.dumps(entry("create", name)) + "\n" for name in ("pods", "jobs")]
    log.write_text("".join(lines) + '{"verb": "cre')
    assert [each.resource for each in read(log, len(lines[0]))] == ["jobs"]
