"""A misspelled annotation is answered by a warning event."""

from __future__ import annotations

import pytest

from jobrelay.kube.resource import EVENTS_CORE
from jobrelay.relay.misspelled import misspelled
from tests.relay.fleets import Fleet, MakeFleet


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("jobrelay.dev/cluster", "jobrelay.dev/clusters"),
        ("jobrelay.dev/Clusters", "jobrelay.dev/clusters"),
        ("jobrelay.dev/prefered-clusters", "jobrelay.dev/preferred-clusters"),
        ("jobrelay.dev/clusterselector", "jobrelay.dev/cluster-selector"),
        ("jobrelay.dev/fencin", "jobrelay.dev/fencing"),
    ],
)
def test_a_name_that_is_nearly_one_of_ours_is_told_with_what_was_meant(written: str, meant: str) -> None:
    (note,) = misspelled({written: "x"})
    assert note.note == f"Annotation {written} means nothing, did you mean {meant}?"
    assert note.type == "Warning"


@pytest.mark.parametrize(
    "name", ["jobrelay.dev/clusters", "jobrelay.dev/assignment", "jobrelay.dev/run-seconds", "example.com/cluster"]
)
def test_what_is_ours_or_like_nothing_of_ours_is_not_judged(name: str) -> None:
    assert misspelled([name]) == ()


def test_several_are_told_at_once() -> None:
    (note,) = misspelled(["jobrelay.dev/cluster", "jobrelay.dev/fencng"])
    assert note.note.count("did you mean") == 2


async def test_the_relay_records_it_once(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(annotations={"jobrelay.dev/cluster": "worker-1"})
        await it.finished()
        (event,) = await it.until(lambda: told(it))
        assert (event["type"], event.get("count", 1)) == ("Warning", 1)


async def told(it: Fleet) -> list[dict[str, object]]:
    listed = await it.client.list(EVENTS_CORE, "default", field_selector="reason=MisspelledAnnotation")
    return [each.decode() for each in listed.items]
