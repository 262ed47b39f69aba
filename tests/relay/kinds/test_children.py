"""Objects that a worker's controller makes of a mirror inherit its labels and annotations, and are no mirrors."""

from __future__ import annotations

from typing import Any

from jobrelay.kube import Object
from tests.relay.kinds.fleets import MANAGEMENT, KindsFleet, kinds_fleet
from tests.relay.kinds.renders import RENDERS, render

BOTH = (MANAGEMENT, "worker-1")


def child(mirror: Object, name: str) -> dict[str, Any]:
    """A child of the same kind, which has copied everything from the metadata of the mirror."""
    owner = {
        "apiVersion": RENDERS.api_version, "kind": RENDERS.kind, "name": mirror.name, "uid": mirror.uid,
        "controller": True,
    }  # fmt: skip
    body = render(name, managed_by=None)
    body["metadata"] |= {
        "labels": mirror.metadata.labels, "annotations": mirror.metadata.annotations, "ownerReferences": [owner],
    }  # fmt: skip
    return body


async def _mirrored(it: KindsFleet) -> Object:
    await it.on(MANAGEMENT).create(RENDERS, render())
    return await it.mirror()


async def test_a_child_is_neither_a_mirror_nor_a_look_alike_and_is_never_swept() -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        mirror = await _mirrored(it)
        await it.on("worker-1").create(RENDERS, child(mirror, "trailer-part"))
        await it.fleet.kill()
        await it.fleet.start()
        assert it.fleet.relay is not None
        held = it.fleet.relay.registry.workers["worker-1"].mirrors[RENDERS]

        async def read() -> bool:
            return [each.name for each in held] == ["trailer"]

        await it.fleet.until(read)
        assert len(held.unproven) == 0
        assert await it.get("worker-1", "trailer-part") is not None
        found = it.explanation()
        assert found is not None
        assert not found.problems


async def test_a_child_in_the_place_of_a_mirror_is_left_alone() -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        mirror = await _mirrored(it)
        made = await it.on("worker-1").create(RENDERS, child(mirror, "other"))
        await it.on(MANAGEMENT).create(RENDERS, render("other"))
        await it.explained("that is not ours, and it is left alone", name="other")
        after = await it.get("worker-1", "other")
        assert after is not None
        assert (after.uid, after.resource_version) == (made.uid, made.resource_version)
