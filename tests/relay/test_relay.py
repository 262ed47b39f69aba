"""The relay at work, on embedded and on real clusters."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from jobrelay.cluster import NodeSettings
from jobrelay.kube import merge_patch
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import EVENTS_CORE, JOBS, NAMESPACES, PODS
from jobrelay.relay.explain import Explanation
from jobrelay.relay.model import State
from jobrelay.relay.workload_kind import WorkloadRef
from tests.relay.fleets import Fleet, MakeFleet, job


async def test_a_delegated_job_runs_on_a_worker_and_its_status_comes_back(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit()
        status = await it.finished()
        assert status["succeeded"] == 1
        assert [one["type"] for one in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
        mirrors = await it.mirrors()
        assert list(mirrors) == [await it.place()]
        assert "managedBy" not in mirrors[await it.place()].decode()["spec"]


async def test_a_standard_job_runs_where_it_is(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(managed_by=None)
        await it.submit("other", managed_by="someone.else/controller")
        await it.submit("ours")
        await it.finished("ours")
        assert await it.mirrors() == {}
        assert await it.mirrors("other") == {}
        assert (await it.job("other"))["status"] == {}


async def test_the_lag_of_each_status_is_measured_also_after_a_restart(fleet: MakeFleet) -> None:
    async with fleet(1, coalesce=0.0) as it:
        await it.submit(seconds=4)
        await it.runs()
        await it.kill()
        await it.start()
        await it.until(lambda: stage(it, "Running"))
        await it.finished()
        assert it.relay is not None
        sample, labels = it.relay.metrics.registry.get_sample_value, {"worker": "worker-1"}
        written = sample("jobrelay_statuses_returned_total", labels)
        assert written
        assert sample("jobrelay_status_lag_seconds_count", labels) == written


async def test_the_deletion_of_a_job_reaches_its_mirror(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(seconds=1000)
        await it.runs()
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        await it.until(lambda: gone(it))


async def test_a_job_that_was_deleted_while_the_relay_was_down_loses_its_mirror(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(seconds=1000)
        await it.runs()
        await it.kill()
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        assert await it.mirrors()
        await it.start()
        await it.until(lambda: gone(it))


async def test_a_job_made_again_under_the_same_name_gets_a_mirror_of_its_own(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        before = (await it.mirrors())[where].uid
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        await it.submit()
        assert (await it.finished())["succeeded"] == 1
        assert before not in [mirror.uid for mirror in (await it.mirrors()).values()]


async def test_suspending_and_resuming_reach_the_mirror_and_come_back(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(seconds=1000)
        await it.runs()
        await it.client.patch(JOBS, "train", merge_patch({"spec": {"suspend": True}}), "default")
        await it.until(lambda: has(it, "Suspended", "True"))
        assert "active" not in (await it.job())["status"]
        await it.client.patch(JOBS, "train", merge_patch({"spec": {"suspend": False}}), "default")
        await it.until(lambda: has(it, "Suspended", "False"))
        await it.runs()


async def test_a_job_created_suspended_is_placed_when_it_is_resumed(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(suspend=True)
        await it.until(lambda: has(it, "Suspended", "True"))
        assert await it.place() == ""
        await it.client.patch(JOBS, "train", merge_patch({"spec": {"suspend": False}}), "default")
        assert (await it.finished())["succeeded"] == 1


async def test_an_elastic_job_is_scaled_on_its_worker(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(seconds=1000, completionMode="Indexed", completions=2, parallelism=2)
        await it.runs()
        change = {"spec": {"completions": 4, "parallelism": 4}}
        await it.client.patch(JOBS, "train", merge_patch(change), "default")
        await it.until(lambda: counts(it, active=4))


async def test_a_failing_job_fails_with_the_reason_of_its_worker(fleet: MakeFleet) -> None:
    async with fleet() as it:
        template = job()["spec"]["template"]
        template["metadata"]["annotations"]["jobrelay.dev/exit-code"] = "3"
        await it.submit(template=template, backoffLimit=0)
        conditions = (await it.finished())["conditions"]
        assert [(one["type"], one["reason"]) for one in conditions] == [
            ("FailureTarget", "BackoffLimitExceeded"),
            ("Failed", "BackoffLimitExceeded"),
        ]


async def test_a_finished_mirror_is_kept_and_then_removed(fleet: MakeFleet) -> None:
    async with fleet(keep_finished=2.0) as it:
        await it.submit()
        await it.finished()
        assert await it.mirrors()
        await it.until(lambda: gone(it))


async def test_a_restart_forgets_nothing(fleet: MakeFleet) -> None:
    async with fleet(keep_finished=3.0) as it:
        await it.submit(seconds=2)
        where = await it.runs()
        await it.kill()
        await it.start()
        assert (await it.finished())["succeeded"] == 1
        assert list(await it.mirrors()) == [where]
        await it.kill()
        await it.start()
        await it.until(lambda: gone(it))


async def test_a_job_of_a_lost_worker_runs_elsewhere_and_its_stale_mirror_is_removed_on_return(
    fleet: MakeFleet,
) -> None:
    async with fleet(3, lost_timeout=0.5) as it:
        await it.submit(seconds=1000)
        lost = await it.runs()
        it.links[lost].partition()
        await it.until(lambda: moved(it, lost))
        assert lost in await it.mirrors()
        it.links[lost].heal()
        await it.until(lambda: left(it, lost))
        assert len(await it.mirrors()) == 1


async def test_a_worker_that_returns_in_time_keeps_its_jobs(fleet: MakeFleet) -> None:
    async with fleet(3, lost_timeout=30.0) as it:
        await it.submit(seconds=1)
        where = await it.runs()
        it.links[where].partition()
        await asyncio.sleep(1.5)
        it.links[where].heal()
        assert (await it.finished())["succeeded"] == 1
        assert await it.place() == where


async def test_when_all_workers_vanish_at_once_nothing_moves(fleet: MakeFleet) -> None:
    async with fleet(3, lost_timeout=0.3) as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        for link in it.links.values():
            link.partition()
        await it.until(lambda: stage(it, "Frozen"))
        assert await it.place() == where


async def test_a_drained_worker_hands_over_and_never_runs_beside_the_next(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(seconds=1000)
        drained = await it.runs()
        specs = it.source.specs
        it.source.change(specs | {drained: dataclasses.replace(specs[drained], state=State.DRAINING)})
        await it.until(lambda: moved(it, drained))
        await it.until(lambda: left(it, drained))


async def test_a_worker_without_the_namespace_is_set_aside_and_the_next_one_takes_the_job(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.open_namespace("team", "worker-2")
        for number in range(4):
            await it.submit(f"job-{number}", "team")
        for number in range(4):
            await it.finished(f"job-{number}", "team")
            assert await it.place(f"job-{number}", "team") == "worker-2"


async def test_namespaces_are_created_if_the_operator_allows_it(fleet: MakeFleet) -> None:
    async with fleet(1, create_namespaces=True) as it:
        await it.client.create(NAMESPACES, {"metadata": {"name": "team"}})
        await it.submit(namespace="team")
        assert (await it.finished(namespace="team"))["succeeded"] == 1
        assert list(await it.mirrors(namespace="team")) == ["worker-1"]


async def test_a_job_of_that_name_that_is_not_ours_is_never_touched(fleet: MakeFleet) -> None:
    async with fleet() as it:
        for worker in it.workers:
            await it.on(worker).create(JOBS, job(managed_by=None, seconds=1000))
        await it.submit()
        await it.until(lambda: stage(it, "WaitingForPlacement"))
        assert "not ours" in str(explained(it))
        for mirror in (await it.mirrors()).values():
            assert "jobrelay.dev/origin" not in mirror.metadata.labels
            assert not mirror.deleting


async def test_a_mirror_that_someone_deletes_is_created_again(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        first = (await it.mirrors())[where].uid
        await it.on(where).delete(JOBS, "train", "default", propagation="Background")

        async def again() -> bool:
            found = (await it.mirrors()).get(where)
            return found is not None and found.uid != first

        await it.until(again)


async def test_a_mirror_that_someone_edits_is_set_back(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(seconds=1000, completions=9, parallelism=2)
        where = await it.runs()
        await it.on(where).patch(JOBS, "train", merge_patch({"spec": {"parallelism": 5}}), "default")

        async def set_back() -> bool:
            return bool((await it.mirrors())[where].decode()["spec"]["parallelism"] == 2)

        await it.until(set_back)


async def test_the_management_cluster_can_be_a_worker(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        await it.be_own_worker("worker-1")
        await it.start()
        await it.submit(seconds=1000)

        async def copies() -> list[str]:
            found = await it.client.list(JOBS, "default", label_selector="jobrelay.dev/origin=tests")
            return [each.name for each in found.items]

        names = await it.until(copies)
        assert len(names) == 1
        assert names[0].startswith("train-relay-")


async def test_events_tell_the_way_of_a_job(fleet: MakeFleet) -> None:
    async with fleet(1) as it:
        await it.submit()
        await it.finished()

        async def reasons() -> set[str]:
            found = await it.client.list(EVENTS_CORE, "default", field_selector="involvedObject.name=train")
            told = {each.decode()["reason"] for each in found.items}
            return told if {"Placed", "MirrorCreated", "Started", "Finished"} <= told else set()

        await it.until(reasons)


async def test_a_warning_about_a_pod_on_the_worker_is_told_on_the_job(fleet: MakeFleet) -> None:
    async with fleet(1) as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        warning = {
            "metadata": {"name": "warning", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": "train-x7k2p"},
            "type": "Warning",
            "reason": "BackOff",
            "message": "Back-off restarting failed container",
        }
        await it.on(where).create(EVENTS_CORE, warning)

        async def heard() -> bool:
            found = await it.client.list(
                EVENTS_CORE, "default", field_selector="involvedObject.name=train,reason=BackOff"
            )
            return any("[worker-1] pod train-x7k2p: Back-off" in each.decode()["message"] for each in found.items)

        await it.until(heard)


async def test_a_namespace_may_have_a_placement_policy_of_its_own(fleet: MakeFleet) -> None:
    async with fleet(2, start=False) as it:
        change = {"metadata": {"annotations": {"jobrelay.dev/placement": "ordered"}}}
        await it.client.patch(NAMESPACES, "default", merge_patch(change))
        await it.start()
        for number in range(6):
            await it.submit(f"job-{number}")
        places = {(await it.finished(f"job-{number}"), await it.place(f"job-{number}"))[1] for number in range(6)}
        assert places == {"worker-1"}
        change = {"metadata": {"annotations": {"jobrelay.dev/placement": None}}}
        await it.client.patch(NAMESPACES, "default", merge_patch(change))


FENCED = {"jobrelay.dev/fencing": "true"}


def fenced_template() -> dict[str, Any]:
    template: dict[str, Any] = job(seconds=1000)["spec"]["template"]
    template["spec"]["terminationGracePeriodSeconds"] = 1
    return template


async def test_the_lease_of_a_fenced_job_is_renewed(fleet: MakeFleet) -> None:
    async with fleet(1, lease=3.0) as it:
        await it.submit(template=fenced_template(), annotations=FENCED)
        where = await it.runs()

        async def renewed() -> bool:
            return bool((await it.mirrors())[where].decode()["spec"]["activeDeadlineSeconds"] > 8)

        await it.until(renewed)
        assert (await it.job())["status"]["active"] == 1
        assert "activeDeadlineSeconds" not in (await it.job())["spec"]


async def test_a_fenced_job_shows_no_suspension_but_its_users(fleet: MakeFleet) -> None:
    async with fleet(1, lease=30.0) as it:
        seen: list[Any] = []
        watching = asyncio.create_task(_conditions(it, seen))
        await it.submit(template=fenced_template(), annotations=FENCED)
        where = await it.runs()
        mirror = (await it.mirrors())[where].decode()
        assert [(one["type"], one["status"]) for one in mirror["status"]["conditions"]] == [("Suspended", "False")]
        assert seen == []
        await it.client.patch(JOBS, "train", merge_patch({"spec": {"suspend": True}}), "default")
        await it.until(lambda: has(it, "Suspended", "True"))
        await it.client.patch(JOBS, "train", merge_patch({"spec": {"suspend": False}}), "default")
        await it.until(lambda: has(it, "Suspended", "False"))
        await it.until(lambda: counts(it, active=1))
        watching.cancel()
        assert (await it.place(), len(await it.mirrors())) == (where, 1)


async def _conditions(it: Fleet, seen: list[Any]) -> None:
    """Collect the conditions that an original ever has."""
    async with it.client.watch(JOBS, "default") as events:
        async for event in events:
            if event.object is not None:
                seen += event.object.decode().get("status", {}).get("conditions", ())


async def test_a_fenced_job_on_a_worker_that_is_cut_off_stops_there_before_it_starts_elsewhere(
    fleet: MakeFleet,
) -> None:
    async with fleet(3, lost_timeout=0.5, lease=3.0, margin=4.0) as it:
        await it.submit(template=fenced_template(), annotations=FENCED)
        lost = await it.runs()
        it.links[lost].partition()

        async def pods_left() -> bool:
            found = (await it.on(lost).list(PODS, "default")).items
            return any(pod.decode()["status"].get("phase") in ("Pending", "Running") for pod in found)

        async def elsewhere() -> bool:
            others = [mirror for name, mirror in (await it.mirrors()).items() if name != lost]
            assert not others or not await pods_left(), "it runs twice"
            return bool(others)

        assert await pods_left()
        await it.until(elsewhere)
        assert (await it.job())["status"].get("conditions", []) == []


async def gone(it: Fleet) -> bool:
    return not await it.mirrors()


async def has(it: Fleet, type: str, status: str) -> bool:
    conditions = (await it.job()).get("status", {}).get("conditions", ())
    return any((one["type"], one["status"]) == (type, status) for one in conditions)


async def counts(it: Fleet, **wanted: int) -> bool:
    status = (await it.job()).get("status", {})
    return all(status.get(name, 0) == value for name, value in wanted.items())


async def moved(it: Fleet, lost: str) -> bool:
    where = await it.place()
    return where != lost and where in await it.mirrors()


async def left(it: Fleet, worker: str) -> bool:
    return worker not in await it.mirrors()


def explained(it: Fleet) -> Explanation | None:
    assert it.relay is not None
    return it.relay.explain(WorkloadRef("jobs.batch", Key("default", "train")))


async def stage(it: Fleet, name: str) -> bool:
    found = explained(it)
    return found is not None and found.stage == name


async def test_a_burst_is_spread_over_workers_by_what_was_promised_to_them(fleet: MakeFleet) -> None:
    nodes = NodeSettings(runtime="scripted", cpu="4")
    async with fleet(2, nodes=nodes) as it:
        template = job(seconds=1000)["spec"]["template"]
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        await it.until(lambda: rooms_are_known(it))
        await asyncio.gather(*(it.submit(f"job-{number}", template=template) for number in range(8)))
        places = [await it.runs(f"job-{number}") for number in range(8)]
        assert sorted(places) == ["worker-1"] * 4 + ["worker-2"] * 4


async def rooms_are_known(it: Fleet) -> bool:
    assert it.relay is not None
    return all(link.capacity.is_known for link in it.relay.registry.workers.values())
