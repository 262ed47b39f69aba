"""What managedBy says, and what happens where a kind lets it be changed, dropped or added later."""

from __future__ import annotations

import pytest

from jobrelay.kube import Object
from jobrelay.relay.original_decision import Stage
from jobrelay.workloads import JobAdapter
from jobrelay.workloads.names import ASSIGNMENT, MULTIKUEUE, RELAY
from tests.relay.kinds.fleets import MANAGEMENT, KindsFleet, kinds_fleet
from tests.relay.kinds.renders import DONE, FINALIZER, NATIVE, RENDERS, STARTED, RenderAdapter, render

BOTH = (MANAGEMENT, "worker-1")


async def _submit(it: KindsFleet, **how: object) -> Object:
    return await it.on(MANAGEMENT).create(RENDERS, render(**how))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [RELAY, MULTIKUEUE])
async def test_each_value_of_the_kind_hands_it_to_the_relay(value: str) -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        await _submit(it, managed_by=value)
        await it.mirror()


@pytest.mark.parametrize("value", [None, NATIVE, "example.com/other"])
async def test_other_values_are_left_alone_and_one_that_would_work_is_named(value: str | None) -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        before = await _submit(it, managed_by=value)
        found = await it.explained(f"managedBy is {value or 'not set'}, and would have to be {RELAY}")
        assert found.stage == Stage.NOT_OURS
        after = await it.get(MANAGEMENT)
        assert after is not None
        assert after.resource_version == before.resource_version


async def test_a_kind_that_its_own_controller_would_run_anyway_is_refused_with_the_reason() -> None:
    why = "its controller does not look at managedBy"
    async with kinds_fleet(*BOTH, workers=1, adapters=(JobAdapter(), RenderAdapter(why))) as it:
        await _submit(it)
        found = await it.explained(f"since it would run twice: {why}")
        assert found.stage == Stage.REFUSED
        assert why in await it.told("NotTaken")
        assert await it.get("worker-1") is None


@pytest.mark.parametrize("value", [None, NATIVE, "example.com/other"])
async def test_a_mirror_is_removed_when_its_original_is_taken_away_from_the_relay(value: str | None) -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        await _submit(it)
        await it.mirror()
        await it.write_status("worker-1", STARTED)
        await it.status(phase="Running")
        await it.change({"spec": {"managedBy": value}})
        await it.gone()
        assert "taken away from the relay" in await it.told("TakenAway")
        original = await it.get(MANAGEMENT)
        assert original is not None
        assert ASSIGNMENT not in original.metadata.annotations


async def test_one_that_was_taken_away_and_comes_back_is_not_started_again() -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        await _submit(it)
        await it.mirror()
        await it.write_status("worker-1", STARTED)
        await it.status(phase="Running")
        await it.change({"spec": {"managedBy": None}})
        await it.gone()
        await it.told("TakenAway")
        await it.change({"spec": {"managedBy": RELAY}})
        found = await it.explained("its own controller had started it before")
        assert found.stage == Stage.REFUSED
        assert await it.get("worker-1") is None


async def test_one_that_was_taken_away_while_no_relay_ran_loses_its_mirror_too() -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        await _submit(it)
        await it.mirror()
        await it.fleet.kill()
        await it.change({"spec": {"managedBy": None}})
        await it.fleet.start()
        await it.gone()
        await it.told("TakenAway")


async def test_one_that_its_own_controller_had_started_is_not_run_a_second_time() -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        await _submit(it, managed_by=None)
        await it.write_status(MANAGEMENT, STARTED)
        await it.change({"spec": {"managedBy": MULTIKUEUE}})
        await it.explained(f"set it back to {NATIVE}")
        assert "had started it before" in await it.told("StartedBefore")
        assert await it.get("worker-1") is None


async def test_a_finalizer_that_nobody_would_remove_does_not_hold_a_deletion_up() -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        body = render(managed_by=None)
        body["metadata"]["finalizers"] = [FINALIZER]
        await it.on(MANAGEMENT).create(RENDERS, body)
        await it.write_status(MANAGEMENT, STARTED)
        await it.change({"spec": {"managedBy": RELAY}})
        await it.told("StartedBefore")
        await it.on(MANAGEMENT).delete(RENDERS, "trailer", "default")
        await it.gone(MANAGEMENT)
        assert FINALIZER in await it.told("FinalizerRemoved")


async def test_a_finalizer_of_somebody_else_is_left() -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        body = render()
        body["metadata"]["finalizers"] = ["example.com/backup"]
        await it.on(MANAGEMENT).create(RENDERS, body)
        await it.mirror()
        await it.on(MANAGEMENT).delete(RENDERS, "trailer", "default")
        await it.gone("worker-1")
        original = await it.get(MANAGEMENT)
        assert original is not None
        assert original.metadata.finalizers == ("example.com/backup",)
        await it.change({"metadata": {"finalizers": None}})


async def test_the_original_is_changed_first_where_its_status_could_not_be_written() -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        await _submit(it, status="pending")
        await it.mirror()
        await it.write_status("worker-1", STARTED)
        await it.status(phase="Running")
        original = await it.get(MANAGEMENT)
        assert original is not None
        assert "status" not in original.decode()["spec"]


async def test_the_status_of_a_mirror_that_is_being_deleted_is_not_the_workloads() -> None:
    async with kinds_fleet(*BOTH, workers=1) as it:
        await _submit(it)
        await it.mirror()
        await it.write_status("worker-1", STARTED)
        await it.status(phase="Running")
        await it.change({"metadata": {"finalizers": [FINALIZER]}}, "worker-1")
        await it.on("worker-1").delete(RENDERS, "trailer", "default")
        await it.write_status("worker-1", {"phase": "Terminating"})
        await it.explained("is being deleted by someone there")
        assert (await it.status())["phase"] == "Running"
        await it.change({"metadata": {"finalizers": None}}, "worker-1")


async def test_counts_that_follow_after_the_end_are_written_too() -> None:
    async with kinds_fleet(*BOTH, workers=1, keep_finished=1e9) as it:
        await _submit(it)
        await it.mirror()
        await it.write_status("worker-1", DONE | {"frames": 23})
        await it.status(phase="Done", frames=23)
        await it.write_status("worker-1", {"frames": 24})
        await it.status(phase="Done", frames=24)


async def test_what_a_loss_means_for_a_kind_that_cannot_be_fenced_is_explained() -> None:
    async with kinds_fleet(*BOTH, workers=1, fencing=True) as it:
        await _submit(it)
        await it.mirror()
        found = it.explanation()
        assert found is not None
        assert not found.fenced
        assert found.unfenced.startswith("no worker stops a Render by itself: if its worker is lost, it is started")
