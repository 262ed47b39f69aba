"""The embedded cluster's controller of JobSets does what JobSet's own manager does."""

from __future__ import annotations

import asyncio
import pathlib
from dataclasses import replace
from typing import Any, Final

import pytest

from jobrelay.kube import connect
from jobrelay.operate.crds import install_definitions, read_definitions
from tests.oracle.job_scripts.compare import differences

from . import clusters, programs
from .jobset_stories import STORIES, Seen, Told, play_all
from .managers import load
from .story import play

pytestmark = pytest.mark.adopters

Obj = dict[str, Any]
Both = tuple[dict[str, Told], dict[str, Told]]

FLEETING: Final = ("active", "ready", "suspended")
LASTING: Final = 1.0  # seconds


async def _theirs(folder: pathlib.Path) -> dict[str, Told]:
    folder.mkdir()
    async with clusters.embedded(folder) as kubeconfig, programs.running(load("jobset"), kubeconfig, folder):
        return await play_all(kubeconfig)


async def _ours(folder: pathlib.Path) -> dict[str, Told]:
    folder.mkdir()
    async with clusters.embedded(folder, "--controllers", "all,jobset") as kubeconfig:
        async with connect(kubeconfig) as client:
            await install_definitions(client, read_definitions(["jobset"]).found)
        return await play_all(kubeconfig)


def _skip_without(name: str) -> None:
    if lacking := programs.lacking():
        pytest.skip(lacking)
    if missing := programs.missing(load(name), programs.versions()):
        pytest.skip(f"not built: {' '.join(missing)}")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """What became of all stories, with JobSet's manager and with ours."""
    _skip_without("jobset")
    folder = tmp_path_factory.mktemp("jobset")
    return asyncio.run(_theirs(folder / "theirs")), asyncio.run(_ours(folder / "ours"))


@pytest.mark.parametrize("name", STORIES)
def test_a_jobset_becomes_the_same(name: str, told: Both) -> None:
    """Its spec with its defaults, its Jobs, Service and claims, and what is told about it."""
    theirs, ours = (
        {
            "jobs": one.jobs, "last": one.last_jobs, "events": one.events, "others": one.others,
            "spec": _written(one.spec),
        }
        for one in (told[0][name], told[1][name])
    )  # fmt: skip
    found = differences(name, theirs, ours)[1:]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("name", STORIES)
def test_a_status_takes_the_same_way(name: str, told: Both) -> None:
    """Conditions, restarts and ended Jobs in the same steps. What lasts for a second, both have seen in this order."""
    theirs, ours = told[0][name].statuses, told[1][name].statuses
    found = differences(name, {"statuses": _steps(theirs)}, {"statuses": _steps(ours)})[1:]
    assert found == [], "\n".join(found)
    assert _unseen(theirs, ours) is None
    assert _unseen(ours, theirs) is None


async def test_a_trainjob_runs_on_the_cluster_s_own_jobsets(tmp_path: pathlib.Path) -> None:
    """Trainer's manager makes JobSets, and reads their status. It is given the real definition without webhooks."""
    _skip_without("trainer")
    trainer = replace(load("trainer"), adopters=("trainer",))
    async with clusters.embedded(tmp_path, "--controllers", "all,jobset") as kubeconfig:
        story = await play(trainer, kubeconfig, tmp_path)
    assert story.refusal == trainer.refusal
    (trainjob,) = story.objects["/apis/trainer.kubeflow.org/v1alpha1/trainjobs"]
    assert [(each["name"], each["succeeded"]) for each in trainjob["status"]["jobsStatus"]] == [("node", 1)]


def _steps(statuses: list[Seen]) -> list[Obj]:
    """The statuses without the counters that may change faster than a manager looks."""
    found: list[Obj] = []
    for each in statuses:
        counters = [
            {key: value for key, value in one.items() if key not in FLEETING}
            for one in each.status.get("replicatedJobsStatus", ())
        ]
        step = {**each.status, "replicatedJobsStatus": counters}
        if found[-1:] != [step]:
            found.append(step)
    return found


def _unseen(some: list[Seen], others: list[Seen]) -> Obj | None:
    """The first lasting status of some that is not among the others in their order."""
    left = iter(others)
    for each in some:
        if each.seconds >= LASTING and not any(each.status == other.status for other in left):
            return each.status
    return None


def _written(value: Any) -> Any:
    """A spec without empty values, which Go's programs write, and names of rules, which no schema can default."""
    if isinstance(value, dict):
        shown = {key: _written(each) for key, each in value.items() if not (key == "name" and "action" in value)}
        return {key: each for key, each in shown.items() if each not in ({}, [])}
    return [_written(each) for each in value] if isinstance(value, list) else value
