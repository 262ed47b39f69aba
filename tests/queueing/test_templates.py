"""Flavors in the pod templates of every kind that has templates of its own."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobrelay.apimachinery.patch.merge import apply_merge_patch
from jobrelay.kube import Object
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.crds import make_definitions as project_definitions
from jobrelay.queueing.integrations.injecting import Clash, Injection
from jobrelay.queueing.integrations.podsets import named_templates, pod_sets, template_at
from jobrelay.queueing.integrations.templates import is_injected, lacks, restore_patch, start_patch
from jobrelay.queueing.resources import WORKLOADS
from jobrelay.queueing.views import PodSetView
from jobrelay.workloads import Adapter
from tests.queueing.fleets import QUEUE, queue_fleet
from tests.queueing.test_kinds import ADAPTERS, JOBSETS, original
from tests.relay.kinds.cases import CASES

TOLERATION = {"key": "gpu", "operator": "Exists"}


def wanted(adapter: Adapter, obj: Object, **more: Any) -> list[Injection]:
    return [
        Injection(each["name"], each["count"], {"pool": "gpu"}, (TOLERATION,), queues={QUEUE: "main"}, **more)
        for each in pod_sets(adapter, obj)
    ]


def with_patch(obj: Object, patch: dict[str, Any] | None) -> Object:
    return decode_object(msgspec.json.encode(apply_merge_patch(obj.decode(), patch)))


def templates(adapter: Adapter, obj: Object) -> list[dict[str, Any]]:
    found = [template_at(obj.decode(), place) for _, place in named_templates(adapter, obj)]
    return [each for each in found if each is not None]


OWN = [each for each in ADAPTERS if templates(each, original(each))]


@pytest.mark.parametrize("adapter", OWN, ids=lambda each: each.resource.kind)
def test_all_templates_get_the_nodes_of_their_flavors_and_lose_them_again(adapter: Adapter) -> None:
    obj = original(adapter)
    queued = [msgspec.convert(each, PodSetView) for each in pod_sets(adapter, obj)]
    started = with_patch(obj, start_patch(adapter, obj, wanted(adapter, obj)))
    assert templates(adapter, started)
    for template in templates(adapter, started):
        assert template["spec"]["nodeSelector"]["pool"] == "gpu"
        assert TOLERATION in template["spec"]["tolerations"]
    assert is_injected(adapter, started)
    restored = with_patch(started, restore_patch(adapter, started, queued))
    assert [each["spec"] for each in templates(adapter, restored)] == [each["spec"] for each in templates(adapter, obj)]
    assert not is_injected(adapter, restored)


@pytest.mark.parametrize("adapter", OWN, ids=lambda each: each.resource.kind)
def test_an_object_that_has_what_it_needs_lacks_nothing(adapter: Adapter) -> None:
    obj = original(adapter)
    assert lacks(adapter, obj, wanted(adapter, obj))
    started = with_patch(obj, start_patch(adapter, obj, wanted(adapter, obj)))
    assert not lacks(adapter, started, wanted(adapter, started))


def test_labels_and_annotations_of_the_user_stay() -> None:
    adapter = next(each for each in OWN if each.resource.kind == "JobSet")
    whole = original(adapter).decode()
    whole["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"] = {"labels": {"team": "a"}}
    obj = decode_object(msgspec.json.encode(whole))
    queued = [msgspec.convert(each, PodSetView) for each in pod_sets(adapter, obj)]
    started = with_patch(obj, start_patch(adapter, obj, wanted(adapter, obj, labels={"rack": "r1"})))
    assert templates(adapter, started)[0]["metadata"]["labels"].items() >= {"team": "a", "rack": "r1"}.items()
    restored = with_patch(started, restore_patch(adapter, started, queued))
    assert templates(adapter, restored)[0]["metadata"]["labels"] == {"team": "a"}


def test_a_selector_that_contradicts_a_flavor_is_a_clash() -> None:
    adapter = next(each for each in OWN if each.resource.kind == "JobSet")
    whole = original(adapter).decode()
    whole["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "cpu"}
    obj = decode_object(msgspec.json.encode(whole))
    with pytest.raises(Clash, match="pool"):
        start_patch(adapter, obj, wanted(adapter, obj))


async def test_the_mirror_of_a_queued_jobset_runs_on_the_nodes_of_its_flavor() -> None:
    adapter = next(each for each in OWN if each.resource.kind == "JobSet")
    async with queue_fleet(1) as it:
        worker = it.it.on("worker-1")
        for client in (it.client, worker):
            for each in project_definitions("jobset"):
                await client.create(CUSTOMRESOURCEDEFINITIONS, each)
        toleration = [{"key": "any", "operator": "Exists"}]
        await it.make_queue(cpu=8, flavor={"tolerations": toleration})
        body = CASES[str(JOBSETS)].body(adapter)
        body["metadata"]["labels"] = {QUEUE: "main"}

        async def created() -> bool:
            await it.client.create(JOBSETS, body)
            return True

        async def mirrored() -> Object | None:
            return next(iter((await worker.list(JOBSETS, "default")).items), None)

        await it.it.until(created)
        mirror = await it.it.until(mirrored)
        assert all(each["spec"]["tolerations"] == toleration for each in templates(adapter, mirror))
        assert len((await it.client.list(WORKLOADS, "default")).items) == 1
