"""Plays scripts to this project's own admission, on an embedded cluster in this process.

Scripts about MultiKueue are played to the relay beside real Kueue, which admits on embedded clusters of their own.

python -m tests.adopters.queueing.ours --only borrowing -v      # what differs from the recording of real Kueue
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from jobrelay.kube.resource import NAMESPACES
from jobrelay.queueing.configuration import parse_configuration
from jobrelay.relay.multikueue.dispatching import DispatcherName, Dispatching
from tests.adopters import clusters
from tests.queueing.fleets import queue_fleet

from . import known
from .compare import differences, most_frequent, told
from .kueue_fleet import MANAGEMENT, kueue_fleet
from .objects import Obj
from .playing import Played, by_settings, play_all
from .scripts import Family, families
from .stage import staged

QUIET: Final = 1.3
"""The Job controller batches what pods tell it for a second."""
TIMED_QUIET: Final = 4.0
"""For families in which something happens after a time, as long as steps took where Kueue was recorded."""
BESIDE_QUIET: Final = 4.0
"""The relay waits for three seconds before it takes a check for its own."""
WITHOUT_MULTIKUEUE: Final = {"featureGates": {"MultiKueue": False}}
CONFIGURATION: Final = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}


async def play(chosen: Sequence[Family]) -> dict[str, Played]:
    """What came of families that have the same settings."""
    configuration = parse_configuration({**CONFIGURATION, **chosen[0].settings})
    quiet = TIMED_QUIET if "waitForPodsReady" in chosen[0].settings else QUIET
    async with (
        queue_fleet(0, configuration, webhooks=True) as fleet,
        staged(fleet.client, quiet, probed=chosen[0].at_once > 1) as stage,
    ):
        return await play_all(stage, chosen)


async def play_beside(chosen: Sequence[Family]) -> dict[str, Played]:
    """What came of families about MultiKueue: Kueue admits everywhere, and the relay is the controller of checks."""
    settings = chosen[0].settings | WITHOUT_MULTIKUEUE
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        async with (
            embedded_clusters(folder, MANAGEMENT, *chosen[0].workers) as kubeconfigs,
            kueue_fleet(folder, kubeconfigs) as fleet,
            fleet.running(settings) as it,
        ):
            await it.home.create(NAMESPACES, {"metadata": {"name": "jobrelay-system"}})
            async with it.relay(dispatching(chosen[0].settings), keep_finished=0.0):
                return await fleet.play(it, chosen, BESIDE_QUIET)


@asynccontextmanager
async def embedded_clusters(folder: pathlib.Path, *names: str) -> AsyncIterator[dict[str, pathlib.Path]]:
    """Embedded clusters without nodes; yields their kubeconfigs by name."""
    async with AsyncExitStack() as stack:
        found = {}
        for name in names:
            (folder / name).mkdir()
            starting = clusters.embedded(folder / name, "--runtime", "none")
            found[name] = await stack.enter_async_context(starting)
        yield found


def dispatching(settings: Obj) -> Dispatching:
    """How the relay dispatches where Kueue has these settings."""
    found = settings.get("multiKueue", {})
    name = found.get("dispatcherName", "all-at-once").removeprefix("kueue.x-k8s.io/multikueue-dispatcher-")
    return Dispatching(DispatcherName(name), found.get("incrementalDispatcherConfig", {}).get("stepSize", 3))


async def compare(chosen: Sequence[Family], *, verbose: bool = False) -> dict[str, list[list[str]]]:
    """The names of facts that differ from the recordings, by script, for each step."""
    found: dict[str, list[list[str]]] = {}
    for group in by_settings(chosen):
        played = await (play_beside(group) if group[0].workers else play(group))
        for family in group:
            found |= differences(family, played[family.name])
            if verbose:
                print("\n".join(told(family, played[family.name])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of families, separated by commas")
    parser.add_argument("-v", action="store_true", help="show both values of each fact that differs")
    options = parser.parse_args()
    found = asyncio.run(compare(families(options.only), verbose=options.v))
    for sort, count in most_frequent(found):
        print(f"{count:5} {sort}")
    print("\n".join(known.problems(known.load(), found)))
    print(f"{known.share_equal(found):.1%} of {sum(map(len, found.values()))} steps are equal")


if __name__ == "__main__":
    main()
