"""The relay with no more rights than it is given, and what its identity on a worker may not do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jobrelay.kube import Client, FakeClock, Forbidden, Invalid, Key, NotFound, connect, merge_patch
from jobrelay.kube.resource import CRONJOBS, EVENTS, JOBS, NAMESPACES, PODS, ROLEBINDINGS, SECRETS, SERVICEACCOUNTS
from jobrelay.operate.identity import HOME
from jobrelay.relay.relay import find_origin
from jobrelay.relay.workers import LossRecord
from jobrelay.relay.workers.multikueue import CLUSTERS
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads.names import EPOCH, ORIGIN, ORIGIN_NAME, ORIGIN_UID
from tests.relay.fleets import NAMESPACE, Fleet, MakeFleet, job

from .fleets import TEAMS, as_relay, install, installed_relay, joined, make_namespaces

OTHERS = "others"


def mirror(origin: str, name: str = "m", namespace: str = "team-a", **pod: Any) -> dict[str, Any]:
    made = job(name, namespace, managed_by=None)
    made["metadata"]["labels"] = {ORIGIN: origin}
    made["metadata"]["annotations"] = {ORIGIN_UID: "u", ORIGIN_NAME: name, EPOCH: "1"}
    made["spec"]["template"]["spec"] |= pod
    return made


async def test_jobs_run_under_these_identities(fleet: MakeFleet) -> None:
    async with fleet(2, start=False) as it, joined(it):
        await make_namespaces(it.client, *TEAMS)
        async with installed_relay(it):
            for number in range(6):
                await it.submit(f"job-{number}", TEAMS[number % 2])
            for number in range(6):
                assert (await it.finished(f"job-{number}", TEAMS[number % 2]))["succeeded"] == 1


async def test_it_tells_of_jobs_and_workers(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it):
        await make_namespaces(it.client, *TEAMS)
        async with installed_relay(it):
            await it.submit("train", "team-a")

            async def told() -> bool:
                events = (await it.client.list(EVENTS, "team-a")).items
                conditions = (await it.client.get(CLUSTERS["v1beta2"], "worker-1")).decode().get("status", {})
                return any(each.decode()["reason"] == "Placed" for each in events) and "Active" in str(conditions)

            await it.until(told)


async def test_a_job_that_is_deleted_takes_its_mirror_along(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it):
        await make_namespaces(it.client, *TEAMS)
        async with installed_relay(it):
            await it.submit("train", "team-a", seconds=600)
            await it.runs("train", "team-a")
            await it.client.delete(JOBS, "train", "team-a", propagation="Background")

            async def gone() -> bool:
                return not await it.mirrors("train", "team-a")

            await it.until(gone)


async def test_a_job_of_another_namespace_is_told_why_it_waits(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it, namespaces=("team-a",)):
        await make_namespaces(it.client, *TEAMS)
        async with installed_relay(it) as (relay, _):
            await it.submit("train", "team-b")

            async def told() -> bool:
                found = relay.explain(WorkloadRef(str(JOBS), Key("team-b", "train")))
                return found is not None and "it serves only namespace team-a" in str(found)

            await it.until(told)


async def test_the_record_of_losses_can_be_kept_and_read_again(fleet: MakeFleet) -> None:
    async with fleet(0, start=False) as it, connect(await install(it)) as client:
        clock = FakeClock()
        record = LossRecord(client, NAMESPACE, clock=clock)
        await record.load()
        record.lost("west", clock.now(), "gone")
        running = asyncio.create_task(record.run())

        async def written() -> bool:
            await clock.advance(10)
            again = LossRecord(client, NAMESPACE, clock=clock)
            await again.load()
            return "west" in again.losses

        await it.until(written)
        running.cancel()
        await asyncio.wait({running})


async def test_what_the_relay_may_not_do_on_the_management_cluster(fleet: MakeFleet) -> None:
    async with fleet(0, start=False) as it, connect(await install(it)) as client:
        await _refused(client.create(JOBS, job()))
        await _refused(client.delete(JOBS, "train", "default"))
        await _refused(client.list(PODS))
        await _refused(client.list(SECRETS))
        await _refused(client.list(SECRETS, "default"))
        await _refused(client.create(SECRETS, {"metadata": {"name": "s"}}, NAMESPACE))
        await _refused(client.apply(SECRETS, _secret("s"), field_manager="m"))
        await _refused(client.create(ROLEBINDINGS, {"metadata": {"name": "p"}}, NAMESPACE))


async def test_the_relay_may_create_the_secret_with_its_keys(fleet: MakeFleet) -> None:
    async with fleet(0, start=False) as it, connect(await install(it)) as client:
        made = await client.apply(SECRETS, _secret("jobrelay-proof"), field_manager="m")
        assert made.key == Key(NAMESPACE, "jobrelay-proof")


def _secret(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}}


async def _refused(work: Any) -> None:
    with pytest.raises(Forbidden):
        await work


async def test_what_roles_keep_from_it(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it):
        await make_namespaces(it.on("worker-1"), OTHERS)
        async with as_relay(it) as client:
            for place in (*TEAMS, OTHERS, HOME, "kube-system"):
                await _refused(client.list(SECRETS, place))
                await _refused(client.create(PODS, {"metadata": {"name": "p"}, "spec": {}}, place))
                await _refused(client.create(ROLEBINDINGS, {"metadata": {"name": "p"}}, place))
                await _refused(client.get(SECRETS, "any", place))
                for part in ("exec", "attach", "portforward", "eviction", "binding"):
                    await _refused(client.call("POST", PODS.path(place, "p", part), body=b"{}"))
                ephemeral = merge_patch({"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}})
                await _refused(client.patch(PODS, "p", ephemeral, place, subresource="ephemeralcontainers"))
                await _refused(client.delete(PODS, "p", place))
                await _refused(client.create(CRONJOBS, {"metadata": {"name": "c"}, "spec": {}}, place))
            await _refused(client.list(SECRETS))
            await _refused(client.list(JOBS))
            await _refused(client.list(JOBS, OTHERS))
            await _refused(client.create(JOBS, mirror("any", namespace=OTHERS)))
            await _refused(client.list(NAMESPACES))
            await _refused(client.get(NAMESPACES, OTHERS))
            await _refused(client.delete_collection(JOBS, "team-a"))
            await _refused(client.patch(JOBS, "m", merge_patch({}), "team-a", subresource="status"))
            path = SERVICEACCOUNTS.path("team-a", "default", "token")
            await _refused(client.call("POST", path, body=b'{"apiVersion":"authentication.k8s.io/v1","spec":{}}'))


async def test_what_it_may_do(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it):
        origin = await find_origin(it.client)
        async with as_relay(it) as client:
            assert (await client.get(NAMESPACES, "kube-system")).uid
            await client.create(JOBS, mirror(origin))
            await client.patch(JOBS, "m", merge_patch({"spec": {"suspend": True}}), "team-a")
            await client.delete(JOBS, "m", "team-a", propagation="Background")


ESCAPES: dict[str, dict[str, Any]] = {
    "privileged": {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]},
    "privileged init container": {
        "initContainers": [{"name": "i", "image": "i", "securityContext": {"privileged": True}}]
    },
    "hostPath": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
    "hostNetwork": {"hostNetwork": True},
    "hostPath beside others": {
        "volumes": [{"name": "u", "emptyDir": {}}, {"name": "v", "hostPath": {"path": "/run", "type": "Socket"}}]
    },
    "privileged sidecar": {
        "initContainers": [
            {"name": "i", "image": "i", "restartPolicy": "Always", "securityContext": {"privileged": True}}
        ]
    },
    "a host process": {
        "hostNetwork": True,
        "securityContext": {"windowsOptions": {"hostProcess": True}},
    },
    "hostPID": {"hostPID": True},
    "hostIPC": {"hostIPC": True},
}


async def _foreign(it: Fleet) -> None:
    await it.on("worker-1").create(JOBS, job("foreign", "team-a", managed_by=None))


async def _stays_as_it_is(client: Client, origin: str) -> None:
    """A mirror cannot be unmarked, nor turned into something else, be it suspended or not."""
    unmarking: list[dict[str, Any]] = [
        {"labels": {ORIGIN: None}},
        {"labels": {ORIGIN: "somebody-else"}},
        {"labels": None},
        {"annotations": None},
        *({"annotations": {mark: None}} for mark in (ORIGIN_UID, ORIGIN_NAME, EPOCH)),
    ]
    made = mirror(origin)
    made["spec"]["suspend"] = True
    await client.create(JOBS, made)
    for suspend in (True, False):
        await client.patch(JOBS, "m", merge_patch({"spec": {"suspend": suspend}}), "team-a")
        for change in unmarking:
            await _refused(client.patch(JOBS, "m", merge_patch({"metadata": change}), "team-a"))
        for pod in ESCAPES.values():
            for also in ({}, {"suspend": not suspend}):
                change = {"spec": {"template": {"spec": pod}, **also}}
                with pytest.raises((Forbidden, Invalid)):
                    await client.patch(JOBS, "m", merge_patch(change), "team-a")
    await client.delete(JOBS, "m", "team-a", propagation="Background")


async def test_what_its_policy_keeps_from_it(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it):
        origin = await find_origin(it.client)
        await _foreign(it)
        async with as_relay(it) as client:
            for pod in ESCAPES.values():
                await _refused(client.create(JOBS, mirror(origin, **pod)))
            for mark in ("labels", "annotations"):
                unmarked = mirror(origin)
                del unmarked["metadata"][mark]
                await _refused(client.create(JOBS, unmarked))
            marked = {
                "metadata": {"labels": {ORIGIN: origin}, "annotations": mirror(origin)["metadata"]["annotations"]}
            }
            await _refused(client.patch(JOBS, "foreign", merge_patch(marked), "team-a"))
            await _refused(client.delete(JOBS, "foreign", "team-a"))
            await _stays_as_it_is(client, origin)
            unmarked = job("applied", "team-a", managed_by=None)
            await _refused(client.apply(JOBS, unmarked, field_manager="tests"))
        assert await it.on("worker-1").get(JOBS, "foreign", "team-a")


async def test_a_right_ends_with_leave(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        async with joined(it), as_relay(it) as client:
            await client.list(JOBS, "team-a")
        with pytest.raises(NotFound):
            await it.client.get(SECRETS, "worker-1", "jobrelay-system")
