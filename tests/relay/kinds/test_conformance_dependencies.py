"""The rows of the conformance table about what workloads name: missing, copied, shared, changed and removed."""

from __future__ import annotations

from typing import Any

from jobrelay.kube import Object, merge_patch
from jobrelay.kube.objects import encode
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.relay.copy_rules import parse_rules
from jobrelay.relay.dependencies.copies import COPY, SOURCE
from jobrelay.workloads import Adapter
from tests.relay.kinds.fleets import MANAGEMENT
from tests.relay.kinds.table import Table, table, taken

SETTINGS = "settings"
COPIED: dict[str, Any] = {"copies": parse_rules(["ConfigMap"])}
BRIEF: dict[str, Any] = {"copy_grace": 0.4, "settle": 0.1}


async def _put(it: Table, cluster: str, mode: str = "1", name: str = SETTINGS) -> None:
    metadata = {"name": name, "namespace": "default"}
    await it.on(cluster).create(CONFIGMAPS, {"metadata": metadata, "data": {"mode": mode}})


async def _copies(it: Table) -> list[Object]:
    return list((await it.on("worker-1").list(CONFIGMAPS, "default", label_selector=COPY)).items)


def _named(obj: Object, name: str) -> int:
    """In how many fields of its spec an object has a name."""
    return encode(obj.decode()["spec"]).count(encode(name))


@taken
async def test_what_is_missing_is_told_and_waited_for(adapter: Adapter) -> None:
    async with table(adapter, ask_missing=0.05, ask_again=0.2) as it:
        await it.submit(needs=SETTINGS)
        await it.explained("lacks ConfigMap default/settings", name="train")
        assert await it.get("worker-1", "train") is None
        await _put(it, "worker-1")
        mirror = await it.mirror(name="train")
        assert _named(mirror, SETTINGS) > 0


@taken
async def test_what_is_missing_is_copied_and_the_mirror_names_the_copy_everywhere(adapter: Adapter) -> None:
    async with table(adapter, **COPIED) as it:
        await _put(it, MANAGEMENT, "fast")
        original = await it.submit(needs=SETTINGS)
        mirror = await it.mirror(name="train")
        (copy,) = await _copies(it)
        assert copy.decode()["data"] == {"mode": "fast"}
        assert (_named(mirror, copy.name), _named(mirror, SETTINGS)) == (_named(original, SETTINGS), 0)


@taken
async def test_a_copy_is_shared_and_a_changed_source_gives_another_to_what_is_new(adapter: Adapter) -> None:
    async with table(adapter, **COPIED) as it:
        await _put(it, MANAGEMENT)
        for name in ("train", "second"):
            await it.submit(name=name, needs=SETTINGS)
        one, two = await it.mirror(name="train"), await it.mirror(name="second")
        (first,) = await _copies(it)
        assert _named(one, first.name) == _named(two, first.name) > 0
        await it.on(MANAGEMENT).patch(CONFIGMAPS, SETTINGS, merge_patch({"data": {"mode": "2"}}), "default")
        await it.fleet.kill()  # what it has read is believed for seconds
        await it.fleet.start()
        await it.submit(name="third", needs=SETTINGS)
        three = await it.mirror(name="third")
        (other,) = [each for each in await _copies(it) if each.name != first.name]
        assert (other.decode()["data"], _named(three, other.name)) == ({"mode": "2"}, _named(one, first.name))
        after = await it.get("worker-1", "train")
        assert after is not None
        assert after.decode()["spec"] == one.decode()["spec"]


@taken
async def test_a_copy_stays_while_it_is_used_and_goes_then(adapter: Adapter) -> None:
    async with table(adapter, **COPIED, **BRIEF) as it:
        for name, needs in (("train", SETTINGS), ("second", "others")):
            await _put(it, MANAGEMENT, name=needs)
            await it.submit(name=name, needs=needs)
            await it.mirror(name=name)
        assert {each.metadata.annotations[SOURCE] for each in await _copies(it)} == {SETTINGS, "others"}
        await _finish_using(it, "second", "others")
        assert [each.metadata.annotations[SOURCE] for each in await _copies(it)] == [SETTINGS]  # which is older
        await _finish_using(it, "train", SETTINGS)


async def _finish_using(it: Table, name: str, source: str) -> None:
    """Delete an original, and wait until the copy is gone that only its mirror has used."""
    await it.on(MANAGEMENT).delete(it.resource, name, "default", propagation="Background")

    async def removed() -> bool:
        return all(each.metadata.annotations[SOURCE] != source for each in await _copies(it))

    await it.fleet.until(removed)
