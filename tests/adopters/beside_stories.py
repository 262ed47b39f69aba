"""Stories on a management cluster that runs the kind's own controller too: it and the relay never both act.

The controller leaves delegated objects alone, or the relay refuses them. Where managedBy can be changed later, the one
that has the object then takes over from the other, which is told by an event, and nothing hangs on a finalizer.
"""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from jobrelay.kube import Resource, StatusError, merge_patch
from jobrelay.kube.resource import EVENTS, JOBS, PODS
from jobrelay.workloads.declared import paths
from jobrelay.workloads.names import ASSIGNMENT, MULTIKUEUE

from .following import SECONDS
from .relayed_stories import AGAIN_SECONDS, Delegated, no_pods, succeeds
from .story import NAMESPACE

RELAYS_MANAGER: Final = "jobrelay"
"""The field manager of the relay's writes."""


async def is_left_alone(it: Delegated) -> None:
    """It is run by a worker and nowhere else; or refused, and run by its own controller and nowhere else."""
    if it.adapter.runs_anyway:
        await _is_refused(it)
        return
    await succeeds(it)
    for each in it.home.all(it.resource, it.name):
        assert each.obj is None or writers_of_status(each.obj.decode()) <= {RELAYS_MANAGER}
    await _has_no_children(it)


async def _is_refused(it: Delegated) -> None:
    await it.create("succeeds")
    assert it.adapter.runs_anyway in await told(it, "NotTaken")
    await it.shows(lambda obj: it.adapter.read(obj).end is not None, "run by its own controller")
    assert it.worker.all(it.resource, it.name) == []
    await it.delete()
    await it.gone()


async def is_taken_away(it: Delegated) -> None:
    """managedBy is removed while a worker runs it, or while its own controller runs it all the same."""
    if it.adapter.runs_anyway:
        await _is_never_taken(it)
        return
    body = it.relayed.made(it.name, "lasts", on=it.worker.where, delegated=False)
    paths.put(paths.plain(it.adapter.managed_by_path), body, MULTIKUEUE)
    await it.home.client.create(it.resource, body)
    await it.runs()
    if isinstance(it.relayed.mutable, str):
        await _write_through(it, it.relayed.mutable)
    elif not it.relayed.mutable:
        with pytest.raises(StatusError):
            await it.change(it.adapter.managed_by_path, None)
        await it.runs()
    else:
        await it.change(it.adapter.managed_by_path, None)
    if it.relayed.mutable:
        assert "taken away from the relay" in await told(it, "TakenAway")
        await it.worker.gone(it.resource, it.name)
        await no_pods(it.worker.client, it.name)
        await it.shows(lambda obj: ASSIGNMENT not in obj.metadata.annotations, "without an assignment")
    await it.delete()
    await it.gone()
    await no_pods(it.home.client, it.name)


async def is_handed_over(it: Delegated) -> None:
    """managedBy is added while its own controller runs it."""
    await it.home.client.create(it.resource, it.relayed.made(it.name, "lasts", delegated=False))
    await it.shows(it.running, "run by its own controller")
    if it.relayed.mutable is True:
        await it.change(it.adapter.managed_by_path, MULTIKUEUE)
        reason, text = (
            ("NotTaken", "run twice") if it.adapter.runs_anyway else ("StartedBefore", "had started it before")
        )
        assert text in await told(it, reason)
    else:
        with pytest.raises(StatusError):
            await it.change(it.adapter.managed_by_path, MULTIKUEUE)
    assert it.worker.all(it.resource, it.name) == []
    await it.delete()
    await it.gone()
    await no_pods(it.home.client, it.name)


async def _is_never_taken(it: Delegated) -> None:
    await it.create("lasts")
    await told(it, "NotTaken")
    await it.shows(it.running, "run by its own controller")
    await it.change(it.adapter.managed_by_path, None)
    await it.delete()
    await it.gone()
    await no_pods(it.home.client, it.name)
    assert it.worker.all(it.resource, it.name) == []


STORIES: Final = {each.__name__: each for each in (is_left_alone, is_taken_away, is_handed_over)}


def writers_of_status(obj: dict[str, object]) -> set[str]:
    """The field managers that have written its status."""
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    return {each["manager"] for each in metadata["managedFields"] if each.get("subresource") == "status"}


async def told(it: Delegated, reason: str) -> str:
    """Wait for an event about the original; returns its note."""
    async with asyncio.timeout(SECONDS):
        while True:
            for each in (await it.home.client.list(EVENTS, NAMESPACE)).items:
                event = each.decode()
                if (event["regarding"].get("name"), event.get("reason")) == (it.name, reason):
                    assert event["type"] == "Warning"
                    note: str = event["note"]
                    return note
            await asyncio.sleep(AGAIN_SECONDS)


async def _write_through(it: Delegated, version: str) -> None:
    """Change a label through another version of the API, which does not know managedBy and loses it."""
    resource = it.resource
    other = Resource(resource.group, version, resource.plural, resource.kind)
    await it.home.client.patch(other, it.name, merge_patch({"metadata": {"labels": {"a": "b"}}}), NAMESPACE)


async def _has_no_children(it: Delegated) -> None:
    for resource in (PODS, JOBS):
        names = [each.name for each in (await it.home.client.list(resource, NAMESPACE)).items]
        assert [each for each in names if each.startswith(f"{it.name}-")] == []
