"""Compares what was played with the recordings, and says what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from . import recording
from .picture import Facts
from .scripts import Family


def differences(family: Family, played: Mapping[str, Sequence[Facts]]) -> dict[str, list[list[str]]]:
    """The names of facts that differ from the recording, by script, for each step."""
    recorded = recording.load(family.name)
    found: dict[str, list[list[str]]] = {}
    for script in family.scripts:
        steps = zip(recorded[script.name], played[script.name], strict=True)
        found[f"{family.name}/{script.name}"] = [there.differences(here) for there, here in steps]
    return found


def told(family: Family, played: Mapping[str, Sequence[Facts]]) -> list[str]:
    """Differing facts with both values, as lines to read."""
    recorded = recording.load(family.name)
    lines: list[str] = []
    for script in family.scripts:
        for number, (there, here) in enumerate(zip(recorded[script.name], played[script.name], strict=True)):
            if names := there.differences(here):
                lines.append(f"== {family.name}/{script.name}, step {number}: {script.steps[number]}")
                for name in names:
                    lines += [f"  {name}", f"    there: {there.facts.get(name)}", f"    here:  {here.get(name)}"]
    return lines


def most_frequent(found: Mapping[str, Sequence[Sequence[str]]]) -> list[tuple[str, int]]:
    """How many steps differ in facts of a sort: without the names of objects."""
    counts: Counter[str] = Counter()
    for steps in found.values():
        for facts in steps:
            counts.update({_sort(fact) for fact in facts})
    return counts.most_common()


def _sort(fact: str) -> str:
    subject, separator, rest = fact.partition(": ")
    return f"{subject.split()[0]}: {rest}" if separator else subject.split()[0]
