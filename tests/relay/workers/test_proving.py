"""Which objects on a worker count as mirrors."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobrelay.kube import FakeClock, Object, merge_patch
from jobrelay.kube.objects import Key, decode_object
from jobrelay.kube.resource import JOBS
from jobrelay.relay.proofs import ProofKeys
from jobrelay.relay.workers.proving import MirrorProver, Proofs, Site
from jobrelay.relay.workload_kind import mirror_name
from jobrelay.workloads.names import EPOCH, ORIGIN_NAME, ORIGIN_UID, PROOF
from tests.relay.proofs import KEYS, known_proofs, proven

from .support import ORIGIN_HERE, job, settle, worker

HERE = Site("w1", "c1", False)


def prover(site: Site = HERE, kind: str = str(JOBS), proofs: Proofs | None = None) -> MirrorProver:
    return MirrorProver(proofs or known_proofs(ORIGIN_HERE), kind, lambda: site)


def found(uid: str = "m1", annotations: dict[str, str] | None = None, **more: Any) -> Object:
    """A mirror on the cluster c1, as seen there."""
    metadata: dict[str, Any] = {"name": "train", "namespace": "team", "uid": uid, "resourceVersion": "1"}
    made = proven({"metadata": metadata}, ORIGIN_HERE, "w1", identity="c1")
    made["metadata"] |= more
    made["metadata"]["annotations"] |= annotations or {}
    return decode_object(msgspec.json.encode({"apiVersion": "batch/v1", "kind": "Job", **made}))


def test_a_mirror_in_its_place_is_one() -> None:
    assert prover().prove(found()) == found()


@pytest.mark.parametrize(
    "look_alike",
    [
        found(namespace="other"),
        found(name="other"),
        found(name="other", annotations={ORIGIN_NAME: "other"}),
        found(annotations={ORIGIN_UID: "u2"}),
        found(annotations={EPOCH: "2"}),
        found(annotations={PROOF: "v1."}),
        found(annotations={PROOF: ""}),
    ],
)
def test_a_copy_in_another_place_or_with_other_claims_is_none(look_alike: Object) -> None:
    assert prover().prove(look_alike) is None


def test_a_copy_on_another_cluster_or_of_another_kind_is_none() -> None:
    assert prover(Site("w1", "c2", False)).prove(found()) is None
    assert prover(Site("w2", "", False)).prove(found()) is None
    assert prover(kind="cronjobs.batch").prove(found()) is None


def test_on_the_management_cluster_itself_a_mirror_has_another_name() -> None:
    home = prover(Site("w1", "c1", True))
    assert home.prove(found()) is None
    name = mirror_name(Key("team", "train"), own_cluster=True)
    metadata = {"name": name, "namespace": "team", "uid": "m1", "resourceVersion": "1"}
    made = proven({"metadata": metadata}, ORIGIN_HERE, "w1", identity="c1")
    made["metadata"]["annotations"][ORIGIN_NAME] = "train"
    assert home.prove(decode_object(msgspec.json.encode({"kind": "Job", **made}))) is not None


def test_a_proof_from_before_the_identity_could_be_read_stays_valid() -> None:
    metadata = {"name": "train", "namespace": "team", "uid": "m1", "resourceVersion": "1"}
    made = proven({"metadata": metadata}, ORIGIN_HERE, "w1")
    early = decode_object(msgspec.json.encode({"kind": "Job", **made}))
    assert prover(Site("w1", "c1", False)).prove(early) is not None
    assert prover(Site("w2", "c1", False)).prove(early) is None


def test_what_was_proven_is_known_by_its_uid_when_its_annotations_are_changed() -> None:
    judge = prover()
    judge.prove(found())
    changed = judge.prove(found(annotations={ORIGIN_UID: "u2", ORIGIN_NAME: "x", EPOCH: "7"}))
    assert changed is not None
    assert changed.metadata.annotations == {ORIGIN_UID: "u1", ORIGIN_NAME: "train", EPOCH: "1"}
    assert judge.prove(found(uid="m2", annotations={EPOCH: "7"})) is None


def test_what_is_deleted_is_forgotten() -> None:
    judge = prover()
    judge.prove(found())
    judge.forget("m1")
    assert judge.prove(found(annotations={EPOCH: "7"})) is None


async def test_look_alikes_are_held_apart_and_mirrors_again_when_the_key_returns(clock: FakeClock) -> None:
    proofs = Proofs(ORIGIN_HERE, ProofKeys([b"x" * 32]))
    async with worker(clock, proofs=proofs) as w:
        await w.client.create(JOBS, job("a"))
        await settle(clock)
        assert (len(w.link.mirrors[JOBS]), w.link.mirrors.unproven) == (0, 1)
        proofs.use(KEYS)
        w.link.mirrors.judge_again()
        assert (len(w.link.mirrors[JOBS]), w.link.mirrors.unproven) == (1, 0)


async def test_a_look_alike_that_is_deleted_is_held_no_more(clock: FakeClock) -> None:
    async with worker(clock) as w:
        await w.client.create(JOBS, job("a", worker="w2"))
        await settle(clock)
        assert w.link.mirrors.unproven == 1
        await w.client.delete(JOBS, "a", "default", propagation="Background")
        await settle(clock)
        assert w.link.mirrors.unproven == 0


async def test_a_mirror_whose_annotations_were_changed_stays_one(clock: FakeClock) -> None:
    async with worker(clock) as w:
        await w.client.create(JOBS, job("a"))
        await settle(clock)
        await w.client.patch(JOBS, "a", merge_patch({"metadata": {"annotations": {EPOCH: "9"}}}), "default")
        await settle(clock)
        mirror = w.link.mirrors[JOBS].get(Key("default", "a"))
        assert mirror is not None
        assert mirror.metadata.annotations[EPOCH] == "1"
