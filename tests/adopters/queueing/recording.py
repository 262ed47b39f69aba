"""What real Kueue did, kept in `recorded/`: the facts after each step, a file for each family.

A step keeps only what it has changed; a fact that is gone is null. `varying` names the facts of a step that two
recordings did not agree about: they are not determined, and nothing is compared with them.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .picture import Facts

FOLDER: Final = pathlib.Path(__file__).with_name("recorded")


@dataclass(frozen=True)
class Recorded:
    """The facts after one step, and the names of those that are not determined."""

    facts: Facts
    varying: frozenset[str] = frozenset()

    def differences(self, facts: Facts) -> list[str]:
        """The names of facts that others have another way."""
        names = {*self.facts, *facts} - self.varying - set(_raced(self.facts))
        return sorted(name for name in names if not _same(name, self.facts.get(name), facts.get(name)))


def _raced(facts: Facts) -> Iterator[str]:
    """Whether Kueue notes that pods are ready before it notes that they have ended is a race, also in recordings."""
    for name in facts:
        workload, _, what = name.rpartition(": ")
        if what == "Finished":
            yield from (f"{workload}: PodsReady", f"{workload}: PodsReady message")


def _same(name: str, there: Any, here: Any) -> bool:
    """Whether a fact is the same. Of an order, only what was apart there must be so here."""
    if not name.startswith("order ") or there is None or here is None:
        return bool(there == here)
    ranks = {name: rank for rank, group in enumerate(there.split()) for name in group.split("+")}
    order = [ranks.get(each, -1) for each in here.replace("+", " ").split()]
    return len(order) == len(ranks) and order == sorted(order)


Scripts = Mapping[str, Sequence[Recorded]]


def agreed(runs: Sequence[Sequence[Facts]]) -> list[Recorded]:
    """One script of several runs: what they disagree about is not determined."""
    return [_agreed(steps) for steps in zip(*runs, strict=True)]


def _agreed(steps: Sequence[Facts]) -> Recorded:
    first, *others = steps
    varying = {name for each in others for name in {*first, *each} if first.get(name) != each.get(name)}
    return Recorded({name: value for name, value in first.items() if name not in varying}, frozenset(varying))


def load(family: str) -> dict[str, list[Recorded]]:
    """The scripts of a family that are recorded."""
    path = FOLDER / f"{family}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return {name: _decoded(steps) for name, steps in found.items()}


def save(family: str, scripts: Scripts) -> None:
    """Keep a family: a line for each script's step, so that changes can be read."""
    lines = ",\n".join(
        f"{json.dumps(name)}: [\n{_lines(_encoded(steps))}\n]" for name, steps in sorted(scripts.items())
    )
    (FOLDER / f"{family}.json").write_text(f"{{\n{lines}\n}}\n")


def _lines(steps: list[Any]) -> str:
    return ",\n".join(f" {json.dumps(step, ensure_ascii=False)}" for step in steps)


def _encoded(steps: Sequence[Recorded]) -> list[dict[str, Any]]:
    shown, before = [], Facts()
    for step in steps:
        changed = {
            name: step.facts.get(name)
            for name in sorted({*before, *step.facts})
            if before.get(name) != step.facts.get(name)
        }
        shown.append(changed | ({"varying": sorted(step.varying)} if step.varying else {}))
        before = step.facts
    return shown


def _decoded(steps: Sequence[Mapping[str, Any]]) -> list[Recorded]:
    found: list[Recorded] = []
    for step in steps:
        facts = {**(found[-1].facts if found else {}), **step}
        varying = frozenset(facts.pop("varying", ()))
        found.append(Recorded({name: value for name, value in facts.items() if value is not None}, varying))
    return found
