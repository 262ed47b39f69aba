"""What an admission costs the management cluster."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kube import Request, Response, SystemClock, Transport
from jobrelay.kube.resource import JOBS
from jobrelay.queueing.definitions import ensure_definitions
from jobrelay.queueing.gate import QueueingGate
from jobrelay.queueing.integrations.building import workload_name
from jobrelay.queueing.resources import WORKLOADS
from tests.queueing.fleets import QueueFleet, queue_fleet, queued_job
from tests.relay.fleets import fleet

MOST = 4
MOST_OF_RUNNING = 5
"""A Job that runs before it is queued has to be stopped, and its start to be forgotten."""


class Counting:
    """Counts the writes of queueing: to Workloads, and to specs of Jobs other than the relay's own."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.writes: list[str] = []

    async def send(self, request: Request) -> Response:
        path = request.path.partition("?")[0]
        body = request.body or b""
        queues = "/workloads" in path or ("/jobs" in path and b"jobrelay.dev/assignment" not in body)
        if request.method != "GET" and queues:
            self.writes.append(f"{request.method} {path}")
        return await self._inner.send(request)


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        ({}, MOST),
        ({"suspend": True}, MOST),
        ({"managed_by": None, "suspend": True}, MOST),
        ({"managed_by": None}, MOST_OF_RUNNING),
    ],
    ids=["delegated", "suspended", "plain", "running"],
)
async def test_an_admission_costs_at_most_four_writes(spec: dict[str, Any], most: int) -> None:
    async with fleet(1, start=False) as base:
        await ensure_definitions(base.client, SystemClock())
        counting = Counting(base.home)
        base.gate, base.home = QueueingGate, counting  # type: ignore[assignment]
        it = QueueFleet(base)
        await it.make_queue()
        await base.start()
        await it.client.create(JOBS, queued_job("train", seconds=1000, **spec))
        await it.until_condition("train", "Admitted")

        async def started() -> bool:
            return not (await base.job("train"))["spec"].get("suspend")

        await base.until(started)
        assert len(counting.writes) <= most, counting.writes


async def test_a_workload_has_the_name_that_kueue_gives_it() -> None:
    name = workload_name("Job", "batch", "sample", "9a80145b-a9ad-4718-b7fa-93cb1c29ec79")
    assert name.startswith("job-sample-")
    assert len(name) == len("job-sample-") + 5
    assert len(workload_name("Job", "batch", "x" * 300, "uid")) == 253


async def test_a_workload_that_somebody_made_by_hand_is_admitted_too() -> None:
    async with queue_fleet() as it:
        await it.make_queue(cpu=1)
        container = {"name": "a", "image": "a", "resources": {"requests": {"cpu": "1"}}}
        sets = [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]
        body = {"metadata": {"name": "own", "namespace": "default"}, "spec": {"queueName": "main", "podSets": sets}}
        await it.create(WORKLOADS, body)

        async def admitted() -> bool:
            found = (await it.client.get(WORKLOADS, "own", "default")).decode()
            return bool(found.get("status", {}).get("admission"))

        await it.it.until(admitted)
