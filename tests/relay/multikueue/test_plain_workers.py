"""Jobs that Kueue queues, on workers without Kueue: Kueue is played by the test."""

from __future__ import annotations

import dataclasses

from jobrelay.kube import merge_patch
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import JOBS, PODS
from jobrelay.relay.model import State
from jobrelay.relay.multikueue.views import CONFIGS, WORKLOADS
from jobrelay.relay.worker_assignment import epoch_of
from jobrelay.relay.workload_kind import WorkloadRef
from tests.relay.fleets import Fleet
from tests.relay.multikueue.kueue import beside_kueue, of


async def test_a_job_whose_quota_is_reserved_is_placed_and_its_check_becomes_ready() -> None:
    async with beside_kueue() as (it, kueue):
        await kueue.submit()
        await kueue.reserve()
        where = await kueue.ready()
        assert where == await it.place()
        assert (await kueue.check())["message"] == f'The workload was admitted on "{where}"'
        assert "nominatedClusterNames" not in (await kueue.workload())["status"]
        assert await it.mirrors() == {}
        await kueue.admit()
        assert (await it.finished())["succeeded"] == 1
        assert list(await it.mirrors()) == [where]


async def test_nothing_is_placed_before_the_quota_is_reserved_and_other_checks_are_ready() -> None:
    async with beside_kueue() as (it, kueue):
        await kueue.submit()
        await it.until(lambda: says(it, "Kueue has not reserved quota for it: it waits in queue team."))
        await kueue.reserve(checks=("mk", "budget"))
        await it.until(lambda: says(it, "It waits for AdmissionCheck budget."))
        assert await it.place() == ""
        states = [{"name": "mk", "state": "Pending"}, {"name": "budget", "state": "Ready"}]
        await kueue.write(admissionChecks=states)
        assert await kueue.ready()


async def test_only_the_clusters_of_the_config_are_used() -> None:
    async with beside_kueue() as (it, kueue):
        await it.client.patch(CONFIGS, "all", merge_patch({"spec": {"clusters": ["worker-2"]}}))
        for number in range(4):
            await kueue.submit(f"train-{number}")
            await kueue.reserve(f"train-{number}")
        assert {await kueue.ready(f"train-{number}") for number in range(4)} == {"worker-2"}


async def test_an_evicted_job_loses_its_mirror_and_is_placed_anew_when_it_is_admitted_again() -> None:
    async with beside_kueue() as (it, kueue):
        await kueue.submit(seconds=1000)
        await kueue.reserve()
        await kueue.ready()
        await kueue.admit()
        await it.runs()
        await kueue.evict()
        await it.until(lambda: gone(it))
        assert "clusterName" not in (await kueue.workload())["status"]
        await kueue.reserve(at="2026-01-01T12:00:09Z")
        await kueue.ready()
        await kueue.admit()
        await it.runs()
        assert [epoch_of(mirror) for mirror in (await it.mirrors()).values()] == [3]  # the end of a run counts too


async def test_a_job_whose_worker_is_lost_is_retried_and_moves() -> None:
    async with beside_kueue(3, lost_timeout=1.0, freeze_window=0.0) as (it, kueue):
        await kueue.submit(seconds=1000)
        await kueue.reserve()
        where = await kueue.ready()
        await kueue.admit()
        await it.runs()
        it.links[where].partition()
        assert (await kueue.state("Retry"))["message"] == 'Admitting remote lost, Previously: "Ready"'
        await kueue.evict()
        await kueue.reserve(at="2026-01-01T12:00:09Z")
        assert await kueue.ready() != where


async def test_a_worker_that_is_drained_gives_its_jobs_back_to_the_queue() -> None:
    async with beside_kueue() as (it, kueue):
        await kueue.submit(seconds=1000)
        await kueue.reserve()
        where = await kueue.ready()
        await kueue.admit()
        await it.runs()
        specs = it.source.specs
        it.source.change(specs | {where: dataclasses.replace(specs[where], state=State.DRAINING)})
        assert (await kueue.state("Retry"))["message"] == f'Worker cluster "{where}" is draining, Previously: "Ready"'


async def test_a_job_that_is_not_delegated_is_rejected() -> None:
    async with beside_kueue() as (_, kueue):
        await kueue.submit(managed_by=None)
        await kueue.reserve()
        assert (await kueue.state("Rejected"))["message"] == (
            "The owner is not managed by Kueue: Expecting spec.managedBy to be "
            '"kueue.x-k8s.io/multikueue" not "", Previously: "Pending"'
        )


async def test_a_workload_of_a_kind_without_an_adapter_is_rejected() -> None:
    async with beside_kueue() as (it, kueue):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
        spec = {"containers": [{"name": "main", "image": "busybox"}]}
        made = await it.client.create(PODS, pod | {"spec": spec})
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": made.uid, "controller": True}
        metadata = {"name": "job-train", "namespace": "default", "ownerReferences": [owner]}
        await it.client.create(WORKLOADS, of(WORKLOADS) | {"metadata": metadata, "spec": {}})
        await kueue.reserve()
        message = 'No multikueue adapter found for owner kind "Pod", Previously: "Pending"'
        assert (await kueue.state("Rejected"))["message"] == message


async def test_a_workload_of_no_object_is_rejected() -> None:
    async with beside_kueue() as (it, kueue):
        metadata = {"name": "job-train", "namespace": "default"}
        await it.client.create(WORKLOADS, of(WORKLOADS) | {"metadata": metadata, "spec": {}})
        await kueue.reserve()
        assert (await kueue.state("Rejected"))["message"] == 'No multikueue adapter found, Previously: "Pending"'


async def test_a_job_without_a_queue_is_placed_as_ever() -> None:
    async with beside_kueue() as (it, _):
        await it.submit()
        assert (await it.finished())["succeeded"] == 1


async def test_a_restart_of_the_relay_changes_nothing_for_what_runs() -> None:
    async with beside_kueue() as (it, kueue):
        await kueue.submit(seconds=1000)
        await kueue.reserve()
        where = await kueue.ready()
        await kueue.admit()
        await it.runs()
        before = (await it.mirrors())[where].uid
        await it.kill()
        await it.start()
        await it.until(lambda: says(it, "It has been running"))
        assert (await it.mirrors())[where].uid == before


async def test_the_deletion_of_a_queued_job_reaches_its_mirror() -> None:
    async with beside_kueue() as (it, kueue):
        await kueue.submit(seconds=1000)
        await kueue.reserve()
        await kueue.ready()
        await kueue.admit()
        await it.runs()
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        await it.until(lambda: gone(it))


async def says(it: Fleet, sentence: str) -> bool:
    assert it.relay is not None
    found = it.relay.explain(WorkloadRef("jobs.batch", Key("default", "train")))
    return found is not None and found.sentence.startswith(sentence)


async def gone(it: Fleet) -> bool:
    return await it.mirrors() == {}
