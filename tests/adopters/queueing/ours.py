"""Plays scripts to this project's own admission, on an embedded cluster in this process.

python -m tests.adopters.queueing.ours --only borrowing -v      # what differs from the recording of real Kueue
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import Final

from jobrelay.queueing.configuration import parse_configuration
from tests.queueing.fleets import queue_fleet

from . import known
from .compare import differences, most_frequent, told
from .playing import Played, by_settings, play_all
from .scripts import Family, families
from .stage import staged

QUIET: Final = 1.3
"""The Job controller batches what pods tell it for a second."""
TIMED_QUIET: Final = 4.0
"""For families in which something happens after a time, as long as steps took where Kueue was recorded."""
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


async def compare(chosen: Sequence[Family], *, verbose: bool = False) -> dict[str, list[list[str]]]:
    """The names of facts that differ from the recordings, by script, for each step."""
    found: dict[str, list[list[str]]] = {}
    for group in by_settings(chosen):
        played = await play(group)
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
