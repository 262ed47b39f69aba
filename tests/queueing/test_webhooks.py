"""The relay's webhooks on an API server: what objects get, what is refused, and how they are registered."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from jobrelay.kube import Forbidden, NotFound, SystemClock, merge_patch
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import JOBS
from jobrelay.kube.resource import MUTATINGWEBHOOKCONFIGURATIONS as MUTATING
from jobrelay.kube.resource import VALIDATINGWEBHOOKCONFIGURATIONS as VALIDATING
from jobrelay.queueing.resources import ADMISSION_CHECKS, CLUSTER_QUEUES
from jobrelay.queueing.webhooks.configurations import NAME, make_configuration
from jobrelay.queueing.webhooks.defaults import QueueLookup, default_patch
from jobrelay.queueing.webhooks.registration import WebhookRegistration, is_kept
from jobrelay.queueing.webhooks.reviews import AdmissionReviews
from jobrelay.relay.api.registration import Registered
from jobrelay.workloads import JobAdapter, load_adapters
from jobrelay.workloads.names import RELAY
from tests.queueing.fleets import QUEUE, QueueFleet, queue_fleet, queued_job, quota_queue
from tests.relay.fleets import fleet, job

OUTSIDE = Registered("relays", b"authority", "localhost", 8443)
INSIDE = Registered("relays", b"authority")


async def test_a_queued_job_is_created_suspended_and_gets_what_its_flavor_stands_for() -> None:
    async with queue_fleet(0, webhooks=True) as it:
        await it.make_queue(flavor={"nodeLabels": {"pool": "a"}})
        made = await it.client.create(JOBS, queued_job("train", managed_by=None))
        assert made.decode()["spec"]["suspend"] is True
        await it.until_condition("train", "Admitted")

        async def started() -> bool:
            spec = (await it.it.job("train"))["spec"]
            return not spec["suspend"] and spec["template"]["spec"].get("nodeSelector") == {"pool": "a"}

        await it.it.until(started)


async def test_a_job_that_names_no_queue_gets_the_default_one_of_its_namespace() -> None:
    async with queue_fleet(0, webhooks=True) as it:
        await it.make_queue()
        plain = await it.client.create(JOBS, job("plain", managed_by=None))
        assert QUEUE not in plain.metadata.labels
        await it.local_queue("default")
        await it.it.until(lambda: _has_default(it))
        queued = await it.client.create(JOBS, job("train", managed_by=None))
        assert queued.metadata.labels[QUEUE] == "default"
        assert queued.decode()["spec"]["suspend"] is True


async def _has_default(it: QueueFleet) -> bool:
    return any(each.name == "default" for each in it.gate.objects.local_queues)


async def test_refusals_are_told_by_the_webhook_of_the_kind() -> None:
    async with queue_fleet(0, webhooks=True) as it:
        with pytest.raises(Forbidden, match=r'"vclusterqueue\.kb\.io" denied the request: .*must be greater than or'):
            await it.create(CLUSTER_QUEUES, quota_queue(cpu=-1))
        await it.make_queue()
        await it.client.create(JOBS, queued_job("train", managed_by=None))
        await it.until_condition("train", "Admitted")
        await it.it.until(lambda: _runs(it, "train"))
        with pytest.raises(Forbidden, match=r'"vjob\.kb\.io" denied the request: .*field is immutable'):
            await it.patch(JOBS, "train", {"metadata": {"labels": {QUEUE: "other"}}}, "default")


async def _runs(it: QueueFleet, name: str) -> bool:
    return not (await it.it.job(name))["spec"].get("suspend")


async def test_without_the_relay_jobs_are_created_as_they_are() -> None:
    async with queue_fleet(0) as it:
        registration = registering(it, Registered("relays", b"", "localhost", 1))
        keeping = asyncio.create_task(registration.run())
        await registration.registered.wait()
        made = await it.client.create(JOBS, job("train", managed_by=None))
        assert not made.decode()["spec"].get("suspend")
        keeping.cancel()
        await asyncio.wait({keeping})


def registering(it: Any, registered: Registered, *, admits: bool = True) -> WebhookRegistration:
    return WebhookRegistration(it.client, registered, [JOBS], admits=admits, clock=SystemClock())


async def _hooks(it: Any, kind: Any) -> list[str] | None:
    try:
        found = (await it.client.get(kind, NAME)).decode()
    except NotFound:
        return None
    return [each["name"] for each in found.get("webhooks") or ()]


async def test_a_relay_in_the_cluster_fills_the_configurations_and_creates_none() -> None:
    async with fleet(0, start=False) as it:
        keeping = asyncio.create_task(registering(it, INSIDE).run())
        await it.client.create(MUTATING, make_configuration(MUTATING, None, ()))

        async def filled() -> bool:
            return await _hooks(it, MUTATING) == ["mjob.kb.io"]

        await it.until(filled)
        assert await _hooks(it, VALIDATING) is None
        await it.client.patch(MUTATING, NAME, merge_patch({"webhooks": []}))
        await it.until(filled)
        keeping.cancel()
        await asyncio.wait({keeping})


async def test_a_relay_that_leaves_queues_to_kueue_takes_its_webhooks_out() -> None:
    async with fleet(0, start=False) as it:
        for admits, expected in ((True, ["mjob.kb.io"]), (False, [])):
            registration = registering(it, OUTSIDE, admits=admits)
            keeping = asyncio.create_task(registration.run())
            await registration.registered.wait()
            assert await _hooks(it, MUTATING) == expected
            keeping.cancel()
            await asyncio.wait({keeping})


def test_a_configuration_is_compared_without_what_servers_add() -> None:
    wanted = make_configuration(VALIDATING, INSIDE, [JOBS])["webhooks"]
    found = [{**each, "matchPolicy": "Equivalent", "namespaceSelector": {}} for each in wanted]
    assert is_kept(found, wanted)
    assert not is_kept(found[1:], wanted)
    assert not is_kept([{**found[0], "failurePolicy": "Fail"}, *found[1:]], wanted)


def test_webhooks_are_called_by_kueues_names_and_never_stand_in_the_way() -> None:
    hooks = make_configuration(VALIDATING, INSIDE, [each.resource for each in load_adapters()])["webhooks"]
    assert {"vclusterqueue.kb.io", "vcohort.kb.io", "vresourceflavor.kb.io", "vworkload.kb.io", "vjob.kb.io"} <= {
        each["name"] for each in hooks
    }
    assert {each["failurePolicy"] for each in hooks} == {"Ignore"}
    assert hooks[0]["clientConfig"]["service"] == {
        "namespace": "relays", "name": "jobrelay-api", "path": "/queueing/validate",
    }  # fmt: skip


def queues(queue: str | None = None, *, default: bool = False, sends_on: bool = False) -> QueueLookup:
    return QueueLookup(lambda adapter, obj: queue, lambda namespace: default, lambda namespace, name: sends_on)


def test_a_delegated_object_is_not_suspended() -> None:
    body = msgspec.json.encode(queued_job("train", managed_by=RELAY))
    assert default_patch(JobAdapter(), decode_object(body), queues("main")) == []


def test_a_job_without_labels_gets_them_whole() -> None:
    body = msgspec.json.encode({"metadata": {"name": "a"}, "spec": {"template": {}}})
    assert default_patch(JobAdapter(), decode_object(body), queues(default=True)) == [
        {"op": "add", "path": "/metadata/labels", "value": {QUEUE: "default"}},
        {"op": "add", "path": "/spec/suspend", "value": True},
    ]


@pytest.mark.parametrize(
    ("kind", "spec", "path", "value"),
    [
        ("Job", {}, "/spec/managedBy", "kueue.x-k8s.io/multikueue"),
        ("Job", {"managedBy": "kubernetes.io/job-controller"}, "/spec/managedBy", "kueue.x-k8s.io/multikueue"),
        ("PyTorchJob", {}, "/spec/runPolicy", {"managedBy": "kueue.x-k8s.io/multikueue"}),
    ],
)
def test_an_object_in_a_queue_for_other_clusters_is_delegated(
    kind: str, spec: dict[str, Any], path: str, value: Any
) -> None:
    adapter = next(each for each in load_adapters() if each.resource.kind == kind)
    body = msgspec.json.encode({"metadata": {"name": "a", "labels": {QUEUE: "q"}}, "spec": spec})
    patch = default_patch(adapter, decode_object(body), queues("q", sends_on=True))
    assert patch == [{"op": "add", "path": path, "value": value}]


async def test_a_job_in_a_queue_with_multikueues_check_runs_on_a_worker() -> None:
    async with queue_fleet(1, webhooks=True) as it:
        check = {"metadata": {"name": "mk"}, "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}}
        await it.create(ADMISSION_CHECKS, check)
        await it.make_queue(admissionChecksStrategy={"admissionChecks": [{"name": "mk"}]})
        await it.it.until(lambda: _sends_on(it))
        made = await it.client.create(JOBS, queued_job("train", managed_by=None, seconds=1000))
        assert made.decode()["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
        await it.it.runs("train")


async def _sends_on(it: QueueFleet) -> bool:
    return it.gate.objects.sends_on("default", "main")


def test_what_is_no_review_is_not_answered() -> None:
    reviews = AdmissionReviews({JOBS: JobAdapter()}, queues())
    for body in (b"", b"[]", b'{"request": {}}', b'{"request": {"uid": 1, "resource": {}}}'):
        with pytest.raises(msgspec.DecodeError):
            reviews.validate(body)


def test_a_deletion_and_another_kind_are_let_pass() -> None:
    reviews = AdmissionReviews({JOBS: JobAdapter()}, queues())
    for resource in ({"group": "batch", "resource": "jobs"}, {"group": "", "resource": "pods"}):
        body = msgspec.json.encode(
            {"request": {"uid": "u", "resource": resource, "operation": "DELETE", "object": None}}
        )
        for answer in (reviews.validate(body), reviews.mutate(body)):
            assert msgspec.json.decode(answer)["response"] == {"uid": "u", "allowed": True}
