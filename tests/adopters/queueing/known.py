"""The differences from real Kueue that are known: what they are, why they stay, and the steps that show them.

`known_differences.yaml` is the list. Each entry names steps by script and number, and patterns of the facts that differ
there. The comparison fails for a fact that no entry covers, and for a step of an entry that no longer differs.
"""

from __future__ import annotations

import fnmatch
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

LIST: Final = pathlib.Path(__file__).with_name("known_differences.yaml")

Differences = Mapping[str, Sequence[Sequence[str]]]
"""The names of facts that differ: by script (`family/script`), for each step."""


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One difference. `steps` are the numbers of steps by script, `facts` patterns of the facts that differ."""

    what: str
    why: str
    facts: list[str]
    steps: dict[str, list[int]]

    def covers(self, script: str, step: int, fact: str) -> bool:
        return step in self.steps.get(script, ()) and any(fnmatch.fnmatchcase(fact, each) for each in self.facts)


def load() -> list[Known]:
    return msgspec.yaml.decode(LIST.read_bytes(), type=list[Known])


def problems(known: Sequence[Known], found: Differences) -> list[str]:
    """What is wrong with the list, in sentences; entries about scripts that were not played are left alone."""
    return [*_unknown(known, found), *_outdated(known, found)]


def _unknown(known: Sequence[Known], found: Differences) -> Iterator[str]:
    for script, steps in found.items():
        for number, facts in enumerate(steps):
            new = [fact for fact in facts if not any(each.covers(script, number, fact) for each in known)]
            if new:
                yield f"not on the list: {script}, step {number}: {', '.join(new)}"


def _outdated(known: Sequence[Known], found: Differences) -> Iterator[str]:
    for entry in known:
        for script, numbers in entry.steps.items():
            for number in numbers:
                facts = found[script][number] if script in found else None
                if facts is not None and not any(entry.covers(script, number, fact) for fact in facts):
                    yield f"no longer differs: {script}, step {number} of the entry {entry.what!r}"


def share_equal(found: Differences) -> float:
    """The share of steps in which nothing differs."""
    steps = [facts for each in found.values() for facts in each]
    return sum(not facts for facts in steps) / len(steps)
