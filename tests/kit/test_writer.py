"""Complete statuses of a controller's own making: what is legal is written, the rest is named and not sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobrelay.apimachinery.decode import DecodeError
from jobrelay.kit import RULES, IllegalStatus, StatusWriter, check_status
from jobrelay.kube import Conflict
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import JOBS
from tests.kinds.batch.test_job_status import CASES
from tests.relay.fleets import AnyCluster

from .jobs import Obj, job, stored
from .test_sequences import RulingClient, completed

T1 = "2024-01-01T00:01:00Z"


@pytest.mark.parametrize(("rules", "spec", "old", "new"), CASES, ids=["+".join(case[0]) for case in CASES])
def test_every_broken_rule_is_named_before_a_request(rules: list[str], spec: Obj, old: Obj, new: Obj) -> None:
    client = RulingClient()
    obj = decode_object(json.dumps(stored(old, **{"completions": 1, **spec})).encode())
    with pytest.raises(IllegalStatus) as refused:
        completed(StatusWriter(client).write(obj, new))  # type: ignore[arg-type]
    assert [each.name for each in refused.value.broken] == rules
    assert all(each.meaning in str(refused.value) for each in refused.value.broken)
    assert client.requests == 0


def test_the_cases_are_about_all_rules() -> None:
    assert {name for case in CASES for name in case[0]} == {rule.name for rule in RULES}


def test_times_are_compared_as_the_server_reads_them() -> None:
    same = stored({"startTime": T1})
    assert check_status(same, {"startTime": "2024-01-01T01:01:00+01:00"}) == ()


def test_what_is_no_status_is_not_judged() -> None:
    with pytest.raises(DecodeError):
        check_status(stored(), {"active": "many"})


def test_the_same_status_is_not_written_again() -> None:
    client = RulingClient()
    obj = decode_object(json.dumps(stored({"active": 1})).encode())
    assert completed(StatusWriter(client).write(obj, {"active": 1})) is obj  # type: ignore[arg-type]
    assert client.requests == 0


async def test_a_status_is_for_the_job_as_it_was_read(any_cluster: AnyCluster) -> None:
    seen: list[Any] = []
    client = any_cluster.client()
    writer = StatusWriter(client, written=seen.append)
    made = await client.create(JOBS, job())
    written = await writer.write(made, {"startTime": T1, "active": 1})
    assert seen == [written]
    assert written.decode()["status"] == {"startTime": T1, "active": 1}
    with pytest.raises(Conflict):
        await writer.write(made, {"startTime": T1, "active": 2})
