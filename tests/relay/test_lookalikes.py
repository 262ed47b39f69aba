"""Objects on workers that look like mirrors: what tenants try, and what is left when keys are lost."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from jobrelay.kube import Object, merge_patch
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import EVENTS, JOBS, SECRETS
from jobrelay.relay.explain import Explanation
from jobrelay.relay.lookalikes import LookAlike, LookAlikes
from jobrelay.relay.original_decision import Stage
from jobrelay.relay.proofs import ProofKeys, parse_keys
from jobrelay.relay.reconcile_mirror import CreateMirror, reconcile_mirror
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.relay.workers.proof_secret import NAME
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads.names import EPOCH, ORIGIN_UID, PROOF
from tests.relay.fleets import NAMESPACE, Fleet, MakeFleet
from tests.relay.snapshots import job, mirror, running, snapshot, worker

PLACE = ("a", Key("team", "train"))
ELSEWHERE = ("a", Key("other", "train"))


def look_alike(place: tuple[str, Key], uid: str = "x1") -> LookAlike:
    return LookAlike(place[0], False, "Job", place[1], uid)


def test_in_the_place_of_a_mirror_it_holds_the_next_run_and_says_how_to_mend_that() -> None:
    seen = snapshot(job(cluster="b"), [worker("a"), worker("b")], lookalikes={PLACE: look_alike(PLACE)})
    decision = reconcile_original(seen)
    assert (decision.stage, decision.action) == (Stage.FROZEN, None)
    assert "Job team/train on a is where the mirror" in decision.sentence
    assert "delete it there, or restore the Secret" in decision.sentence
    assert reconcile_mirror(seen, "b", "train").action is None


def test_anywhere_else_it_holds_nothing() -> None:
    seen = snapshot(job(cluster="b"), [worker("a"), worker("b")], lookalikes={ELSEWHERE: look_alike(ELSEWHERE)})
    assert isinstance(reconcile_mirror(seen, "b", "train").action, CreateMirror)
    assert reconcile_original(seen).stage is Stage.MIRRORING


def test_it_does_not_stop_a_run_that_is_proven() -> None:
    mirrors = {"b": mirror(cluster="b", status=running())}
    seen = snapshot(job(cluster="b"), [worker("a"), worker("b")], mirrors, lookalikes={PLACE: look_alike(PLACE)})
    assert reconcile_original(seen).stage is Stage.RUNNING


def test_on_a_worker_that_does_not_answer_it_holds_nothing() -> None:
    seen = snapshot(job(cluster="b"), [worker("a", lost=5), worker("b")], lookalikes={PLACE: look_alike(PLACE)})
    assert isinstance(reconcile_mirror(seen, "b", "train").action, CreateMirror)


def test_each_is_told_once_and_again_if_it_is_another_object() -> None:
    held = LookAlikes()
    held.add("u1", look_alike(PLACE))
    held.add("u1", look_alike(PLACE))
    assert held.take_unreported("u1") == [look_alike(PLACE)]
    held.add("u1", look_alike(PLACE))
    assert held.take_unreported("u1") == []
    held.add("u1", look_alike(PLACE, "x2"))
    assert held.take_unreported("u1") == [look_alike(PLACE, "x2")]
    held.forget_worker("a")
    assert not held.of("u1")


# In a fleet


async def copy(it: Fleet, worker: str, real: Object, namespace: str = "default", **marks: Any) -> Object:
    """What a tenant makes of a mirror that can be read, with some annotations changed."""
    metadata = real.metadata
    body = real.decode()
    labels = {key: value for key, value in metadata.labels.items() if key.startswith(("jobrelay.dev/", "kueue"))}
    annotations = {key: value for key, value in (metadata.annotations | marks).items() if value is not None}
    spec = {**body["spec"], "selector": None}
    spec["template"] = {**spec["template"], "metadata": {}}
    made = {"name": real.name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return await it.on(worker).create(JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": made, "spec": spec})


async def notes(it: Fleet, reason: str, namespace: str = "default") -> list[str]:
    found = [event.decode() for event in (await it.client.list(EVENTS, namespace)).items]
    return [event["note"] for event in found if event["reason"] == reason]


def explained(it: Fleet) -> Explanation:
    assert it.relay is not None
    found = it.relay.explain(WorkloadRef("jobs.batch", Key("default", "train")))
    assert found is not None
    return found


async def lose_key(it: Fleet) -> None:
    await it.kill()
    await it.client.delete(SECRETS, NAME, NAMESPACE)
    await it.start()


async def test_a_tenant_of_another_namespace_cannot_take_over_a_job(fleet: MakeFleet) -> None:
    async with fleet(2, start=False) as it:
        await it.open_namespace("evil", *it.workers)
        await it.start()
        await it.submit(seconds=1000)
        where = await it.runs()
        (real,) = (await it.mirrors()).values()
        for name in it.workers:
            await copy(it, name, real, "evil", **{EPOCH: "5"})

        async def told() -> bool:
            return len(await notes(it, "LookAlike")) == 2

        await it.until(told)
        assert assignment_of(await it.client.get(JOBS, "train", "default")) is not None
        assert (await it.place(), (await it.job())["status"]["active"]) == (where, 1)
        assert (await it.mirrors())[where].uid == real.uid
        assert len(await it.mirrors(namespace="evil")) == 2
        assert [each for each in explained(it).problems if "evil/train" in each]
        assert it.relay is not None
        assert b'jobrelay_lookalikes{worker="worker-1"} 1.0' in it.relay.metrics_text()


async def test_a_whole_mirror_copied_to_another_worker_is_not_believed(fleet: MakeFleet) -> None:
    async with fleet(2) as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        (other,) = set(it.workers) - {where}
        forged = await copy(it, other, (await it.mirrors())[where])
        await it.until(lambda: notes(it, "LookAlike"))
        assert await it.place() == where
        assert (await it.mirrors())[other].uid == forged.uid


async def test_changed_annotations_of_a_mirror_are_put_back(fleet: MakeFleet) -> None:
    async with fleet(1) as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        before = (await it.mirrors())[where].metadata.annotations
        change = {EPOCH: "9", ORIGIN_UID: None, PROOF: "v1.x"}
        await it.on(where).patch(JOBS, "train", merge_patch({"metadata": {"annotations": change}}), "default")

        async def restored() -> bool:
            return (await it.mirrors())[where].metadata.annotations == before

        await it.until(restored)
        to = assignment_of(await it.client.get(JOBS, "train", "default"))
        assert to is not None
        assert to.epoch == 1


@pytest.mark.parametrize(("mark", "reason"), [(PROOF, "LookAlike"), (ORIGIN_UID, "MirrorUnmarked")])
async def test_a_mirror_that_lost_a_mark_while_no_relay_ran_is_left_alone(
    fleet: MakeFleet, mark: str, reason: str
) -> None:
    async with fleet(2) as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        real = (await it.mirrors())[where]
        await it.kill()
        await it.on(where).patch(JOBS, "train", merge_patch({"metadata": {"annotations": {mark: None}}}), "default")
        await it.start()
        await it.until(lambda: notes(it, reason))
        assert await it.place() == where
        assert {name: each.uid for name, each in (await it.mirrors()).items()} == {where: real.uid}


async def test_a_mirror_whose_key_was_lost_is_neither_deleted_nor_started_again(fleet: MakeFleet) -> None:
    async with fleet(2) as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        real = (await it.mirrors())[where]
        await lose_key(it)
        (note,) = await it.until(lambda: notes(it, "LookAlike"))
        assert "it may be the mirror" in note
        assert explained(it).stage == Stage.FROZEN
        assert {name: each.uid for name, each in (await it.mirrors()).items()} == {where: real.uid}


async def test_the_restored_key_gives_the_run_back(fleet: MakeFleet) -> None:
    async with fleet(2) as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        saved = (await it.client.get(SECRETS, NAME, NAMESPACE)).decode()["data"]
        await lose_key(it)
        await it.until(lambda: notes(it, "LookAlike"))
        assert it.relay is not None
        it.relay.registry.proofs.use(parse_keys(b64decode(saved["keys"]).decode()))

        async def runs_on() -> bool:
            return explained(it).stage == Stage.RUNNING

        await it.until(runs_on)
        assert await it.place() == where


async def test_deleting_what_is_in_the_way_starts_the_job_again(fleet: MakeFleet) -> None:
    async with fleet(1) as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        real = (await it.mirrors())[where]
        await lose_key(it)
        await it.until(lambda: notes(it, "LookAlike"))
        await it.on(where).delete(JOBS, "train", "default", propagation="Foreground")

        async def again() -> bool:
            found = (await it.mirrors()).get(where)
            return found is not None and found.uid != real.uid

        await it.until(again)


@pytest.mark.parametrize("keep_old", [True, False])
async def test_mirrors_get_a_proof_by_a_new_first_key(fleet: MakeFleet, keep_old: bool) -> None:
    async with fleet(1) as it:
        await it.submit(seconds=1000)
        where = await it.runs()
        before = (await it.mirrors())[where].metadata.annotations[PROOF]
        assert it.relay is not None
        proofs = it.relay.registry.proofs
        old = proofs.keys.text() if keep_old else ""
        proofs.use(parse_keys(ProofKeys([b"n" * 32]).text() + old))

        async def signed_again() -> bool:
            return (await it.mirrors())[where].metadata.annotations[PROOF] != before

        await it.until(signed_again)
        assert await it.place() == where
        assert not await notes(it, "LookAlike")
