"""The relay as the controller of MultiKueue's checks, beside real Kueue on the management cluster and on workers."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from jobrelay.kube import merge_patch
from jobrelay.kube.resource import EVENTS, JOBS, PODS, Resource
from jobrelay.relay.multikueue.dispatching import DispatcherName, Dispatching
from jobrelay.relay.multikueue.views import CHECKS, WORKLOADS
from jobrelay.workloads.names import MULTIKUEUE

from . import programs
from .kueues import SECONDS, Installation, installation, is_true, of, queued_job
from .managers import load
from .stage import Wires

pytestmark = pytest.mark.adopters

CLUSTER_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False)
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
PRIORITIES = Resource("kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False)


@pytest.fixture(autouse=True)
def needs_kueue() -> None:
    if lacking := programs.lacking():
        pytest.skip(lacking)
    if missing := programs.missing(load("kueue"), programs.versions()):
        pytest.skip(f"not built: {' '.join(missing)}")


async def test_plain_workers_and_workers_with_kueue_serve_the_same_queue(tmp_path: pathlib.Path) -> None:
    async with installation(tmp_path, ["plain"], ["queued"]) as it, it.kueue(multikueue=False):
        await it.configure()
        async with it.relay():
            names = [f"job-{number}" for number in range(6)]
            for name in names:
                await it.submit(name)
            places = {name: await it.admitted(name) for name in names}
            assert set(places.values()) == {"plain", "queued"}
            for name, worker in places.items():
                end = await it.finished(name)
                assert (end["reason"], end["message"]) == ("Succeeded", "Reached expected number of succeeded pods")
                check = (await it.workload(name))["status"]["admissionChecks"][0]
                assert (check["state"], check["message"]) == ("Ready", f'The workload was admitted on "{worker}"')
                await it.gone(worker, name)
            assert (await it.clients["queued"].list(WORKLOADS, "default")).items == ()


@pytest.mark.parametrize("worker", ["plain", "queued"])
async def test_a_job_that_is_preempted_on_the_management_cluster_runs_again_later(
    tmp_path: pathlib.Path, worker: str
) -> None:
    workers = {"plain": ([worker], []), "queued": ([], [worker])}[worker]
    async with installation(tmp_path, *workers) as it, it.kueue(multikueue=False):
        await it.configure(cpu="1")
        await it.home.create(PRIORITIES, of(PRIORITIES) | {"metadata": {"name": "high"}, "value": 100})
        async with it.relay():
            await it.submit("low", seconds=1000)
            await it.runs("low")
            before = await uids(it, worker, "low")
            high = queued_job("high", seconds=2)
            high["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
            await it.home.create(JOBS, high)
            await it.finished("high")
            await it.runs("low")
            assert await uids(it, worker, "low") != before
            assert (await it.workload("low"))["status"]["schedulingStats"]["evictions"][0]["reason"] == "Preempted"


async def test_a_job_that_is_evicted_on_its_worker_is_queued_again(tmp_path: pathlib.Path) -> None:
    async with installation(tmp_path, [], ["one", "two"], cpu="1") as it, it.kueue(multikueue=False):
        await it.configure()
        async with it.relay():
            await it.submit("job", seconds=1000)
            first = await it.admitted("job")
            await it.runs("job")
            [remote] = (await it.clients[first].list(WORKLOADS, "default")).items
            stop = merge_patch({"spec": {"stopPolicy": "HoldAndDrain"}})
            await it.clients[first].patch(CLUSTER_QUEUES, "shared", stop)
            await it.until(lambda: moved(it, "job", first))
            await it.runs("job")
            await it.gone(first, "job")
            await it.gone(first, remote.name, WORKLOADS)


@pytest.mark.parametrize("kind", ["plain", "queued"])
async def test_a_job_whose_worker_is_lost_runs_elsewhere_and_is_removed_when_it_returns(
    tmp_path: pathlib.Path, kind: str
) -> None:
    both, wires = ["one", "two"], Wires()
    async with installation(tmp_path, *(both, []) if kind == "plain" else ([], both)) as it, it.kueue(multikueue=False):
        await it.configure()
        async with it.relay(wires=wires, lost_timeout=15.0) as relay:
            await it.submit("job", seconds=1000)
            first = await it.admitted("job")
            await it.runs("job")
            async with wires.cut_off(relay, first):
                await it.until(lambda: moved(it, "job", first), 2 * SECONDS)
                await it.runs("job")
                assert await it.on(first, "job") is not None
            await it.gone(first, "job")
            assert await it.on((set(both) - {first}).pop(), "job") is not None
            if kind == "queued":
                await it.until(lambda: none_left(it, first))


async def test_a_job_goes_on_where_it_is_when_its_worker_returns_in_time(tmp_path: pathlib.Path) -> None:
    wires = Wires()
    async with installation(tmp_path, [], ["one", "two"]) as it, it.kueue(multikueue=False):
        await it.configure()
        async with it.relay(wires=wires) as relay:
            await it.submit("job", seconds=1000)
            first = await it.admitted("job")
            await it.runs("job")
            async with wires.cut_off(relay, first):
                await succeed_one_pod(it, first, "job")
            assert (await it.finished("job"))["reason"] == "Succeeded"
            workload = await it.workload("job")
            assert (workload["status"]["clusterName"], evictions(workload)) == (first, 0)


@pytest.mark.parametrize("kind", ["plain", "queued"])
async def test_what_pods_that_have_ended_leave_free_is_given_to_the_next_job(tmp_path: pathlib.Path, kind: str) -> None:
    workers = (["worker"], []) if kind == "plain" else ([], ["worker"])
    async with installation(tmp_path, *workers, cpu="2") as it, it.kueue(multikueue=False):
        await it.configure(cpu="2")
        async with it.relay():
            await it.submit("large", seconds=1000, parallelism=2, completions=2)
            await it.until(lambda: shows(it, "large", active=2))
            await it.submit("next", seconds=1)
            await succeed_one_pod(it, "worker", "large")
            assert (await it.finished("next"))["reason"] == "Succeeded"
            status = (await it.workload("large"))["status"]
            assert status["reclaimablePods"] == [{"name": "main", "count": 1}]
            assert is_true(status, "Finished") is None


async def test_the_first_of_two_workers_that_admits_it_wins(tmp_path: pathlib.Path) -> None:
    async with installation(tmp_path, [], ["one", "two"]) as it, it.kueue(multikueue=False):
        await it.configure()
        await it.clients["one"].patch(CLUSTER_QUEUES, "shared", merge_patch({"spec": {"stopPolicy": "Hold"}}))
        async with it.relay(Dispatching(DispatcherName.ALL_AT_ONCE)):
            await it.submit("job", seconds=3)
            assert await it.admitted("job") == "two"
            await it.finished("job")
            assert (await it.clients["one"].list(WORKLOADS, "default")).items == ()


async def test_the_relay_stays_out_while_kueues_own_controller_is_at_work(tmp_path: pathlib.Path) -> None:
    async with installation(tmp_path, [], ["queued"]) as it, it.kueue(multikueue=True):
        await it.configure()
        async with it.relay():
            await it.until(lambda: told(it, "NotTheController"))
            await it.submit("job", seconds=1)
            assert await it.admitted("job") == "queued"
            await it.finished("job")
            active = (await it.home.get(CHECKS, "mk")).decode()["status"]["conditions"][0]
            assert active["message"] == "The admission check is active"
            assert "jobrelay.dev/assignment" not in (await it.job("job"))["metadata"].get("annotations", {})


async def test_an_installation_is_taken_over_and_given_back_without_stopping_what_runs(tmp_path: pathlib.Path) -> None:
    async with installation(tmp_path, ["plain"], ["queued"]) as it:
        async with it.kueue(multikueue=True):
            await it.configure()
            await it.name_workers("queued")
            await it.submit("first", seconds=30)
            await it.submit("ends", seconds=15)
            assert await it.admitted("first") == "queued"
            await it.runs("first")
        before = await uids(it, "queued", "first", "ends")
        async with it.kueue(multikueue=False), it.relay():
            await it.until(lambda: told(it, "TakenOver"))
            await it.name_workers("queued", "plain")
            await it.submit("second", seconds=1)
            await it.finished("second")
            await it.submit("third", seconds=25)
            await it.finished("ends")
            assert (await uids(it, "queued", "first")) == before[:1]
            where = await it.admitted("third")
            await it.runs("third")
            if where == "plain":  # it is run to its end before the worker is given back
                await it.finished("third")
        async with it.kueue(multikueue=True):
            await it.name_workers("queued")
            assert (await it.finished("first"))["reason"] == "Succeeded"
            assert evictions(await it.workload("first")) == 0
            assert (await it.finished("third"))["reason"] == "Succeeded"
            await it.gone("queued", "first")


async def test_jobsets_run_on_plain_workers_and_on_workers_with_kueue(tmp_path: pathlib.Path) -> None:
    if missing := programs.missing(load("jobset"), programs.versions()):
        pytest.skip(f"not built: {' '.join(missing)}")
    async with installation(tmp_path, ["plain"], ["queued"], others=["jobset"]) as it, it.kueue(multikueue=False):
        await it.configure()
        async with it.relay():
            for worker in ("plain", "queued"):
                await it.name_workers(worker)
                await it.home.create(JOBSETS, jobset(f"on-{worker}"))
                assert await it.admitted(f"on-{worker}", "JobSet") == worker
                assert (await it.finished(f"on-{worker}", "JobSet"))["reason"] == "Succeeded"
                status = (await it.home.get(JOBSETS, f"on-{worker}", "default")).decode()["status"]
                assert status["terminalState"] == "Completed"
                await it.gone(worker, f"on-{worker}", JOBSETS)


def jobset(name: str) -> dict[str, Any]:
    job = queued_job(name)
    job["spec"]["template"]["spec"].pop("restartPolicy")
    template = {"spec": {"parallelism": 1, "completions": 1, "template": job["spec"]["template"]}}
    spec = {"managedBy": MULTIKUEUE, "suspend": True}
    replicated = [{"name": "w", "replicas": 2, "template": template}]
    return of(JOBSETS) | {"metadata": job["metadata"], "spec": {**spec, "replicatedJobs": replicated}}


async def uids(it: Installation, worker: str, *names: str) -> list[str]:
    found = [await it.on(worker, name) for name in names]
    return [each.uid for each in found if each is not None]


async def moved(it: Installation, name: str, first: str) -> bool:
    """Whether a Job is admitted on another worker than the first one."""
    status = (await it.workload(name)).get("status", {})
    return status.get("clusterName") not in (None, first) and is_true(status, "Admitted") is not None


async def none_left(it: Installation, worker: str) -> bool:
    """Whether a worker has no Workloads."""
    return not (await it.clients[worker].list(WORKLOADS, "default")).items


async def shows(it: Installation, name: str, **counts: int) -> bool:
    """Whether the status of a Job has these counts."""
    return counts.items() <= (await it.job(name)).get("status", {}).items()


async def succeed_one_pod(it: Installation, worker: str, job: str) -> None:
    """Let one of the running pods of a Job end, as a kubelet would."""
    client = it.clients[worker]
    pod = next(iter((await client.list(PODS, "default", label_selector=f"job-name={job}")).items))
    await client.patch(PODS, pod.name, merge_patch({"status": {"phase": "Succeeded"}}), "default", subresource="status")


def evictions(workload: dict[str, Any]) -> int:
    return len(workload["status"].get("schedulingStats", {}).get("evictions", ()))


async def told(it: Installation, reason: str) -> bool:
    events = await it.home.list(EVENTS, "default")
    return any(event.decode().get("reason") == reason for event in events.items)
