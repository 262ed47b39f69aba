"""Objects of every kind that are delegated to the relay, run on workers by the real managers of their kinds.

All stories of one manager are played at the same time, on an embedded and on a real worker; then those of a worker that
is lost; then those beside the same manager on the management cluster.
"""

from __future__ import annotations

import asyncio
import functools
import pathlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Final

import pytest

from jobrelay.workloads.builtin import built_in_adapters

from . import beside_stories, lost_stories, programs, relayed
from .lost_stories import Outcomes
from .managers import ORDER, load
from .relayed import RelayedKind
from .relayed_stories import STORIES, Delegated, stories_of
from .stage import EMBEDDED, WORKERS, Stage, set_up, stage

pytestmark = pytest.mark.adopters

PLAYED: Final[dict[str, Outcomes | Exception]] = {}
MANAGERS: Final = [name for name in ORDER if (relayed.FOLDER / f"{name}.yaml").exists()]


def _played(stories: Callable[[RelayedKind], Iterable[str]], *where: str) -> list[tuple[str, str]]:
    """The manager and the name of each story of every kind."""
    workers: list[tuple[str, ...]] = [(each,) for each in where] or [()]
    return [
        (manager, "-".join((kind.kind.lower(), story, *worker)))
        for manager in MANAGERS
        for kind in relayed.load(load(manager)).kinds
        for story in stories(kind)
        for worker in workers
    ]


@functools.cache
def _versions() -> dict[str, str]:
    return programs.versions()


@pytest.fixture
def outcomes(manager: str, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What became of all stories of a manager, which are played once."""
    if lacking := programs.lacking():
        pytest.skip(lacking)
    if missing := programs.missing(load(manager), _versions()):
        pytest.skip(f"not built: {' '.join(missing)}")
    if manager not in PLAYED:
        try:
            PLAYED[manager] = asyncio.run(play(manager, tmp_path_factory.mktemp(manager)))
        except Exception as error:
            PLAYED[manager] = error
    found = PLAYED[manager]
    if isinstance(found, Exception):
        raise found
    return found


async def play(manager: str, folder: pathlib.Path) -> Outcomes:
    async with stage(load(manager), folder) as it:
        adapters = {kind.kind: kind.adapter() for kind in it.relayed.kinds}
        async with it.relaying(list(adapters.values())) as relay:
            outcomes = await _stories(it, adapters)
            outcomes |= await lost_stories.play(it, relay, adapters)
        return outcomes | await _beside(it)


async def _stories(it: Stage, adapters: Mapping[str, Any]) -> Outcomes:
    played = {}
    for kind in it.relayed.kinds:
        for name in stories_of(kind):
            for worker in WORKERS:
                full = f"{kind.kind.lower()}-{name}-{worker}"
                short = full.replace("_", "")
                delegated = Delegated(kind, adapters[kind.kind], short, it.home, it.workers[worker])
                played[full] = STORIES[name](delegated)
    return await _all(played)


async def _beside(it: Stage) -> Outcomes:
    """The relay as it is installed, on a management cluster where the manager has begun to run."""
    adapters = {each.resource: each for each in built_in_adapters()}
    known = {kind.kind: adapters[kind.resource] for kind in it.relayed.kinds}
    folder = it.folder / "management"
    async with (
        programs.running(it.manager, it.kubeconfigs["management"], folder),
        it.relaying(list(known.values())),
    ):
        await set_up(it.home.client, (*it.manager.setup, *it.relayed.setup))
        played = {}
        for kind in it.relayed.kinds:
            for name, story in beside_stories.STORIES.items():
                full = f"{kind.kind.lower()}-{name}"
                delegated = Delegated(kind, known[kind.kind], full.replace("_", ""), it.home, it.workers[EMBEDDED])
                played[full] = story(delegated)
        return await _all(played)


async def _all(played: Mapping[str, Coroutine[Any, Any, None]]) -> Outcomes:
    return dict(zip(played, await asyncio.gather(*played.values(), return_exceptions=True), strict=True))


def _expect(outcomes: Outcomes, story: str) -> None:
    error = outcomes[story]
    if error is not None:
        raise error


@pytest.mark.parametrize(("manager", "story"), _played(stories_of, *WORKERS))
def test_an_original_shows_what_its_mirrors_show(outcomes: Outcomes, story: str) -> None:
    _expect(outcomes, story)


@pytest.mark.parametrize(("manager", "story"), _played(lambda _: lost_stories.STORIES))
def test_an_original_whose_worker_is_lost_shows_what_its_mirrors_show(outcomes: Outcomes, story: str) -> None:
    _expect(outcomes, story)


@pytest.mark.parametrize(("manager", "story"), _played(lambda _: beside_stories.STORIES))
def test_the_relay_and_the_controller_beside_it_never_both_act(outcomes: Outcomes, story: str) -> None:
    _expect(outcomes, story)
