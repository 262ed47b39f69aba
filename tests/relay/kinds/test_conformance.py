"""One table over all kinds: what the relay promises is kept for each, by the adapter and one case of data alone.

The workers' controllers are played by a scripted status writer, except for Jobs, which the embedded cluster runs.
"""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kube import Object, Resource, merge_patch
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.relay.original_decision import Stage
from jobrelay.relay.worker_assignment import epoch_of
from jobrelay.relay.workload_kind import is_built_in
from jobrelay.workloads import Adapter
from tests.relay.kinds import golden
from tests.relay.kinds.cases import ADAPTERS, CASES, merged
from tests.relay.kinds.fleets import MANAGEMENT
from tests.relay.kinds.table import TAKEN, name_of, table, taken

QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
DEFINED = [each for each in TAKEN if not is_built_in(each.resource)]
defined = pytest.mark.parametrize("adapter", DEFINED, ids=name_of)
BY_NAME = {str(each.resource): each for each in ADAPTERS}


def test_every_kind_is_in_the_table() -> None:
    assert {str(each.resource) for each in ADAPTERS} <= set(CASES)


@pytest.mark.parametrize(
    ("adapter", "value"), [(each, value) for each in TAKEN for value in sorted(each.managers)],
    ids=lambda part: part if isinstance(part, str) else name_of(part),
)  # fmt: skip
async def test_each_value_that_delegates_a_kind_gives_it_a_mirror_that_nobody_else_manages(
    adapter: Adapter, value: str
) -> None:
    async with table(adapter) as it:
        await it.submit(value)
        mirror = await it.mirror(name="train")
        assert adapter.read(mirror).managed_by in (None, "", adapter.native)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=name_of)
@pytest.mark.parametrize("value", ["native", "absent", "foreign"])
async def test_what_is_not_delegated_is_left_alone(adapter: Adapter, value: str) -> None:
    values = {"native": adapter.native or None, "absent": None, "foreign": "example.com/other"}
    async with table(adapter) as it:
        made = await it.submit(values[value])
        found = await it.explained("It is not delegated to the relay", name="train")
        assert found.stage == Stage.NOT_OURS
        assert await it.get("worker-1", "train") is None
        after = await it.get(MANAGEMENT, "train")
        assert after is not None
        assert (after.metadata.annotations, after.metadata.finalizers) == (
            made.metadata.annotations,
            made.metadata.finalizers,
        )


@pytest.mark.parametrize("adapter", [each for each in ADAPTERS if each.runs_anyway], ids=name_of)
async def test_a_kind_that_would_run_twice_is_refused(adapter: Adapter) -> None:
    async with table(adapter) as it:
        await it.submit()
        found = await it.explained(adapter.runs_anyway, name="train")
        assert found.stage == Stage.REFUSED


@taken
async def test_the_mirror_has_the_shape_of_its_golden_file(adapter: Adapter) -> None:
    async with table(adapter) as it:
        original = await it.submit()
        assert golden.shape(await it.mirror(name="train"), original) == golden.read(adapter)


@taken
async def test_every_status_of_the_mirror_comes_back_up_to_the_end(adapter: Adapter) -> None:
    async with table(adapter) as it:
        await it.submit(lasts=False)
        await it.mirror(name="train")
        for status in it.case.statuses:
            await it.write_status("worker-1", dict(status), "train")
            await it.returned("worker-1")

        async def ended() -> Object | None:
            original = await it.returned("worker-1")
            return original if not it.case.ends or adapter.read(original).end is not None else None

        await it.fleet.until(ended)
        end = adapter.read(await it.returned("worker-1")).end
        assert end is None or end.succeeded


@taken
async def test_what_may_change_later_is_forwarded(adapter: Adapter) -> None:
    async with table(adapter) as it:
        await it.submit()
        before = await it.mirror(name="train")
        change = {"spec": it.case.forward}
        assert merged(before.decode(), change) != before.decode()
        await it.on(MANAGEMENT).patch(it.resource, "train", merge_patch(change), "default")

        async def forwarded() -> bool:
            mirror = await it.get("worker-1", "train")
            return mirror is not None and merged(mirror.decode(), change) == mirror.decode()

        await it.fleet.until(forwarded)


@taken
async def test_after_a_loss_it_runs_elsewhere_and_nothing_goes_back(adapter: Adapter) -> None:
    async with table(adapter, 2, lost_timeout=0.5) as it:
        await it.submit()
        first = await it.place()
        await it.mirror(first, "train")
        for status in it.case.before_end:
            await it.write_status(first, {**status, **it.case.counters}, "train")
        before = await it.returned(first)
        it.fleet.links[first].partition()
        second = next(name for name in it.fleet.workers if name != first)
        assert epoch_of(await it.mirror(second, "train")) == 2
        after = await it.get(MANAGEMENT, "train")
        assert after is not None
        assert adapter.read(after).started == adapter.read(before).started
        for status in it.case.before_end:
            await it.write_status(second, dict(status), "train")
        status = (await it.returned(second)).decode().get("status", {})
        assert {name: status[name] for name in it.case.counters} == it.case.counters


@defined
async def test_a_worker_without_the_definition_is_unfit_until_it_is_there(adapter: Adapter) -> None:
    async with table(adapter, on_workers=False) as it:
        await it.submit()
        await it.explained(f"it does not serve {it.resource}/{it.resource.version}", name="train")
        await it.define("worker-1")
        await it.mirror(name="train")


@defined
async def test_a_spec_that_a_worker_finds_invalid_waits_there_with_its_message(adapter: Adapter) -> None:
    async with table(adapter, on_workers=False) as it:
        await it.define("worker-1", required=["approvedBy"])
        await it.submit()
        await it.explained("spec.approvedBy: Required value", name="train")
        assert await it.get("worker-1", "train") is None


@taken
async def test_a_worker_that_refuses_it_is_named_with_the_reason(adapter: Adapter) -> None:
    async with table(adapter) as it:
        metadata = {"name": "none", "namespace": "default"}
        quota = {"metadata": metadata, "spec": {"hard": {f"count/{it.resource}": "0"}}}
        await it.on("worker-1").create(QUOTAS, quota)
        await it.submit()
        await it.explained("exceeded quota", name="train")


@taken
async def test_children_that_inherit_the_marks_of_a_mirror_are_no_look_alikes_and_stay(adapter: Adapter) -> None:
    async with table(adapter) as it:
        await it.submit()
        mirror = await it.mirror(name="train")
        owner = await it.on("worker-1").create(CONFIGMAPS, {"metadata": {"name": "owner", "namespace": "default"}})
        made = await it.on("worker-1").create(it.resource, _child(adapter, mirror, owner, "child"))
        assert it.fleet.relay is not None
        held = it.fleet.relay.registry.workers["worker-1"].mirrors[it.resource]

        async def seen() -> bool:
            return any(made.key in part for part in held.parts)

        await it.fleet.until(seen)
        assert (made.key in held, len(held.unproven)) == (False, 0)
        await it.on(MANAGEMENT).delete(it.resource, "train", "default")
        await it.gone("worker-1", "train")
        left = await it.get("worker-1", "child")
        assert left is not None
        assert left.uid == made.uid


@pytest.mark.parametrize("adapter", [each for each in TAKEN if CASES[str(each.resource)].child], ids=name_of)
async def test_objects_of_another_kind_that_its_controller_makes_are_no_mirrors(adapter: Adapter) -> None:
    """They have the name of the mirror, and its labels and annotations: a mirror of their kind would look like that."""
    other = BY_NAME[CASES[str(adapter.resource)].child]
    async with table(adapter, 1, other) as it:
        await it.submit()
        mirror = await it.mirror(name="train")
        made = await it.on("worker-1").create(other.resource, _child(other, mirror, mirror, "train"))
        await it.on(MANAGEMENT).create(
            other.resource, CASES[str(other.resource)].body(other, min(other.managers), "own")
        )
        assert it.fleet.relay is not None
        held = it.fleet.relay.registry.workers["worker-1"].mirrors[other.resource]

        async def seen() -> bool:
            return Key("default", "own") in held and any(made.key in part for part in held.parts)

        await it.fleet.until(seen)
        assert {each.name for each in held} == {"own"}
        left = await it.on("worker-1").get(other.resource, "train", "default")
        assert (left.uid, left.deleting) == (made.uid, False)


def _child(adapter: Adapter, mirror: Object, by: Object, name: str) -> dict[str, Any]:
    """An object with everything of the mirror's metadata, which something else owns."""
    head = by.decode()
    owner = {
        "apiVersion": head["apiVersion"], "kind": head["kind"], "name": by.name, "uid": by.uid, "controller": True,
    }  # fmt: skip
    body = CASES[str(adapter.resource)].body(adapter, None, name)
    marks = {"labels": mirror.metadata.labels, "annotations": mirror.metadata.annotations}
    return merged(body, {"metadata": marks | {"ownerReferences": [owner]}})
