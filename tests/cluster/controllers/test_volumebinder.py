"""Claims are bound to volumes that exist."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from jobrelay.cluster.controllers import volumebinder
from jobrelay.cluster.controllers.volumebinder.decisions import (
    BIND_COMPLETED,
    Bind,
    Unbind,
    decide_claim,
    decide_volume,
)
from jobrelay.cluster.controllers.volumebinder.matching import best_match, mismatch

from ..apiserver.serving import MERGE
from .running import World, world

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
EVENTS = "/api/v1/namespaces/default/events"


def claim(name: str = "c", size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": ""}
    return {"metadata": {"name": name}, "spec": asked | spec}


def volume(name: str = "v", size: str = "1Gi", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    made = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": "/data"},
    }
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": made | spec}


async def add(w: World, *objects: dict[str, Any]) -> None:
    """Creates claims and volumes in this order, one after the other."""
    for obj in objects:
        await w.server.ok("POST", VOLUMES if "capacity" in obj["spec"] else CLAIMS, obj)
        await w.pass_()


async def remove(w: World, path: str) -> None:
    """Deletes an object that nothing protects here."""
    await w.server.ok("PATCH", path, {"metadata": {"finalizers": None}}, media=MERGE)
    await w.server.ok("DELETE", path)
    await w.pass_()


async def phases(w: World) -> dict[str, tuple[str, str]]:
    """By name: the phase, and what it is bound to."""
    made = [*(await w.get(CLAIMS))["items"], *(await w.get(VOLUMES))["items"]]
    return {
        each["metadata"]["name"]: (
            each["status"]["phase"],
            each["spec"].get("volumeName") or (each["spec"].get("claimRef") or {}).get("name", ""),
        )
        for each in made
    }


async def events(w: World) -> list[tuple[str, str]]:
    await w.pass_(1)
    return [(each["reason"], each["message"]) for each in (await w.get(EVENTS))["items"]]


@pytest.mark.parametrize("objects", [(claim(), volume()), (volume(), claim())])
async def test_a_claim_and_a_volume_that_fit_are_bound(objects: tuple[dict[str, Any], ...]) -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, *objects)
        assert await phases(w) == {"c": ("Bound", "v"), "v": ("Bound", "c")}
        bound, taken = await w.get(f"{CLAIMS}/c"), await w.get(f"{VOLUMES}/v")
        assert bound["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
        assert set(bound["metadata"]["annotations"]) == {
            "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller",
        }  # fmt: skip
        assert taken["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
        assert taken["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]


async def test_the_smallest_volume_that_is_large_enough_is_taken() -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, volume("small", "1Gi"), volume("large", "9Gi"), volume("middle", "3Gi"), claim(size="2Gi"))
        assert (await phases(w))["c"] == ("Bound", "middle")


async def test_two_claims_never_get_one_volume() -> None:
    async with world(volumebinder.set_up) as w:
        await w.server.ok("POST", CLAIMS, claim("c"))
        await w.server.ok("POST", CLAIMS, claim("d"))
        await add(w, volume())
        assert sorted(phase for phase, _ in (await phases(w)).values()) == ["Bound", "Bound", "Pending"]


async def test_a_volume_that_the_user_reserved_goes_to_its_claim_only() -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, volume(claimRef={"namespace": "default", "name": "d"}), claim("c"), claim("d"))
        assert await phases(w) == {"c": ("Pending", ""), "d": ("Bound", "v"), "v": ("Bound", "d")}


async def test_a_requested_volume_that_does_not_fit_is_told() -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, volume(), claim(size="2Gi", volumeName="v"))
        assert (await phases(w))["c"][0] == "Pending"
        assert ("VolumeMismatch", 'Cannot bind to requested volume "v": requested PV is too small') in await events(w)


async def test_a_requested_volume_of_another_claim_is_told() -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, volume(), claim("c"), claim("d", volumeName="v"))
        assert ("FailedBinding", 'volume "v" already bound to a different claim.') in await events(w)


async def test_a_volume_that_comes_late_is_found_by_the_claim_that_names_it() -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, claim(volumeName="v"), claim("d", storageClassName="other"), volume())
        assert await phases(w) == {"c": ("Bound", "v"), "d": ("Pending", ""), "v": ("Bound", "c")}


async def test_only_claims_that_a_volume_may_concern_are_looked_at_again() -> None:
    async with world(volumebinder.set_up) as w:
        for number in range(50):
            await w.server.ok("POST", CLAIMS, claim(f"c-{number}", storageClassName="other"))
        await w.pass_()
        before = await events(w)
        await add(w, volume())
        assert (await phases(w))["v"] == ("Available", "")
        assert await events(w) == before


async def test_a_claim_that_nothing_fits_says_so() -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, claim())
        text = "no persistent volumes available for this claim and no storage class is set"
        assert await events(w) == [("FailedBinding", text)]


async def test_a_provisioner_is_asked_by_annotations() -> None:
    async with world(volumebinder.set_up) as w:
        await w.server.ok("POST", CLASSES, {"metadata": {"name": "fast"}, "provisioner": "csi.example.com"})
        await add(w, claim(storageClassName="fast"), claim("d", storageClassName="none"))
        asked = (await w.get(f"{CLAIMS}/c"))["metadata"]["annotations"]
        assert asked["volume.kubernetes.io/storage-provisioner"] == "csi.example.com"
        told = dict(await events(w))
        assert told["ProvisioningFailed"] == 'storageclass.storage.k8s.io "none" not found'
        assert told["ExternalProvisioning"].startswith("Waiting for a volume to be created either by the external")


async def test_a_class_that_waits_for_a_consumer_leaves_its_claims_alone() -> None:
    waits = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    async with world(volumebinder.set_up) as w:
        await w.server.ok("POST", CLASSES, {"metadata": {"name": "local"}, **waits})
        await add(w, volume(storageClassName="local"), claim(storageClassName="local"))
        assert await phases(w) == {"c": ("Pending", ""), "v": ("Available", "")}
        text = "waiting for first consumer to be created before binding"
        assert ("WaitForFirstConsumer", text) in await events(w)


async def test_a_default_class_that_comes_later_is_used() -> None:
    async with world(volumebinder.set_up) as w:
        made = claim()
        del made["spec"]["storageClassName"]
        await add(w, made)
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        await w.server.ok("POST", CLASSES, {"metadata": {"name": "d", "annotations": default}, "provisioner": "x.io/p"})
        await w.pass_()
        assert (await w.get(f"{CLAIMS}/c"))["spec"]["storageClassName"] == "d"


async def test_a_volume_whose_claim_is_gone_is_released() -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, volume(), claim())
        await w.server.ok(
            "PATCH", f"{CLAIMS}/c", {"metadata": {"finalizers": None}}, media="application/merge-patch+json"
        )
        await w.server.ok("DELETE", f"{CLAIMS}/c")
        await w.pass_()
        assert await phases(w) == {"v": ("Released", "c")}
        await add(w, claim())
        assert await phases(w) == {"c": ("Pending", ""), "v": ("Released", "c")}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"hostPath": {"path": "/data"}}, "host_path deleter only supports /tmp/.+ but received provided /data"),
        (
            {"hostPath": None, "nfs": {"server": "s", "path": "/"}},
            'error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
        ),
    ],
)
async def test_nothing_deletes_what_is_in_a_volume(source: dict[str, Any], text: str) -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, volume(persistentVolumeReclaimPolicy="Delete", **source), claim())
        await remove(w, f"{CLAIMS}/c")
        status = (await w.get(f"{VOLUMES}/v"))["status"]
        assert (status["phase"], status["message"]) == ("Failed", text)


async def test_a_claim_whose_volume_is_gone_is_lost() -> None:
    async with world(volumebinder.set_up) as w:
        await add(w, volume(), claim())
        await w.server.ok(
            "PATCH", f"{VOLUMES}/v", {"metadata": {"finalizers": None}}, media="application/merge-patch+json"
        )
        await w.server.ok("DELETE", f"{VOLUMES}/v")
        await w.pass_()
        assert await phases(w) == {"c": ("Lost", "v")}
        text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        assert ("ClaimLost", text) in await events(w)


@pytest.mark.parametrize("written", [0, 1, 2, 3])
def test_a_binding_that_was_interrupted_goes_on(written: int) -> None:
    asked, free = claim(), volume()
    asked["metadata"] |= {"namespace": "default", "uid": "u", "annotations": {}}
    if written >= 1:
        free["spec"]["claimRef"] = {"namespace": "default", "name": "c", "uid": "u"}
    free["status"] = {"phase": "Bound" if written >= 2 else "Available"}
    if written >= 3:
        asked["spec"]["volumeName"] = "v"
        asked["metadata"]["annotations"] = {BIND_COMPLETED: "yes"}
    assert decide_claim(asked, {"v": free}, {}) == Bind(free)
    assert decide_volume(free, asked if written else None) != Unbind()


MODES = st.lists(st.sampled_from(["ReadWriteOnce", "ReadOnlyMany"]), min_size=1, max_size=2, unique=True)
SIZES = st.sampled_from(["1Gi", "2Gi", "3Gi"])
CLASS = st.sampled_from(["", "fast"])


@hypothesis.given(st.lists(st.tuples(SIZES, MODES, CLASS), max_size=4), SIZES, MODES, CLASS)
def test_a_match_satisfies_the_claim(volumes: list[Any], size: str, modes: list[str], name: str) -> None:
    asked = claim(size=size, accessModes=modes, storageClassName=name)
    asked["metadata"] |= {"namespace": "default", "uid": "u"}
    made = [
        volume(str(number), each, accessModes=offered, storageClassName=kind) | {"status": {"phase": "Available"}}
        for number, (each, offered, kind) in enumerate(volumes)
    ]
    found = best_match(asked, made, delayed=False)
    fit = [each for each in made if not mismatch(each, asked)]
    assert (found is None) == (not fit)
    assert found is None or found in fit
