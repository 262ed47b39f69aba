"""The priorities of workloads, and their places in line as programs and commands see them."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.cluster import NodeSettings
from jobrelay.kube.objects import Key
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads.priority import priority_class
from jobrelay.workloads.references import PRIORITYCLASSES
from tests.relay.fleets import Fleet, fleet, job
from tests.relay.snapshots import ADAPTER
from tests.relay.snapshots import job as an_original


@pytest.mark.parametrize("name", ["", "urgent", "system-node-critical"])
def test_a_job_has_the_priority_class_of_its_pods(name: str) -> None:
    pod: dict[str, Any] = {"containers": [], **({"priorityClassName": name} if name else {})}
    assert priority_class(ADAPTER, an_original(template={"spec": pod})) == name


def needs(cpu: str, **pod: Any) -> dict[str, Any]:
    template = job(seconds=1000)["spec"]["template"]
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    template["spec"].update(pod)
    return {"template": template}


async def places(it: Fleet) -> list[str]:
    assert it.relay is not None
    return [ref.key.name for ref in it.relay.line_places()]


async def test_those_that_wait_are_in_line_by_priority_and_explained_with_their_place() -> None:
    async with fleet(1, nodes=NodeSettings(runtime="scripted", cpu="2")) as it:
        for client in (it.client, it.on("worker-1")):
            await client.create(PRIORITYCLASSES, {"metadata": {"name": "urgent"}, "value": 100})
        await it.submit("runs", **needs("2"))
        await it.runs("runs")
        await it.submit("late", **needs("2"))
        await it.until(lambda: places(it))
        await it.submit("first", **needs("1500m", priorityClassName="urgent"))

        async def both() -> bool:
            return await places(it) == ["first", "late"]

        await it.until(both)
        assert it.relay is not None
        found = it.relay.explain(WorkloadRef("jobs.batch", Key("default", "late")))
        assert found is not None
        assert found.line is not None
        assert (found.line.place, found.line.of, found.line.earliest) == (2, 2, "")
