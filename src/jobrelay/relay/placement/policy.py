"""A policy: which scores count, how much each, and whether workloads wait for room. Read from a text such as
`least-loaded*2,cost`.

Two scores are part of every policy unless it names them itself: `preferred`, because it is the workload's own wish, and
`sticky`. Their weights put them before everything else.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .guests import Guest, Guests
from .scores import SCORES, Score

__all__ = ["DEFAULT", "INSTALLED", "Policy", "PolicyError", "Weighted", "parse_policy"]

DEFAULT: Final = "fit,least-loaded,affinity"
INSTALLED: Final = Guests()
"""The policies of the packages in this environment."""
_MODES: Final = ("fit", "overflow")
_ALWAYS: Final = {"preferred": 100.0, "sticky": 10.0}


class PolicyError(ValueError):
    """A text that is not a policy; its message says what is wrong and what could be meant."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """One score and how much it counts."""

    name: str
    weight: float
    score: Score


@dataclass(frozen=True, slots=True)
class Policy:
    """How workers are compared."""

    text: str
    scores: tuple[Weighted, ...]
    guests: tuple[tuple[Guest, float], ...] = ()
    waits: bool = True
    """Whether a workload waits here while no worker has room for all of its pods."""


def parse_policy(text: str, installed: Guests = INSTALLED) -> Policy:
    """Read a policy; an empty text is the default one."""
    weights: dict[str, float] = {}
    for item in (text.strip() or DEFAULT).split(","):
        name, star, weight = (part.strip() for part in item.partition("*"))
        if name in weights:
            raise PolicyError(f"placement policy {name} is named twice in {text!r}")
        if star and name in _MODES:
            raise PolicyError(f"placement policy {name} is no score and has no weight: {item.strip()!r}")
        weights[name] = _weight(item, weight) if star else 1.0
    if weights.keys() >= set(_MODES):
        raise PolicyError(
            "placement policies fit and overflow exclude each other: one waits for room, the other never does"
        )
    waits = weights.pop("overflow", None) is None
    weights.pop("fit", None)
    return _policy(text.strip() or DEFAULT, weights or {"least-loaded": 1.0, "affinity": 1.0}, waits, installed)


def _policy(text: str, weights: dict[str, float], waits: bool, installed: Guests) -> Policy:
    guests: list[tuple[Guest, float]] = []
    for name, weight in weights.items():
        if name in SCORES:
            continue
        guest = installed.get(name)
        if guest is None:
            raise PolicyError(_unknown(name, [*_MODES, *SCORES, *installed.names()]))
        guests.append((guest, weight))
    chosen = {name: weight for name, weight in (_ALWAYS | weights).items() if name in SCORES and weight}
    return Policy(
        text, tuple(Weighted(name, weight, SCORES[name]) for name, weight in chosen.items()), tuple(guests), waits
    )


def _weight(item: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise PolicyError(f"a weight is a number that is not negative, as in least-loaded*2: {item.strip()!r}")
    return weight


def _unknown(name: str, known: Iterable[str]) -> str:
    known = sorted(set(known))
    near = difflib.get_close_matches(name, known, 1)
    guess = f", did you mean {near[0]}?" if near else "."
    said = f"there is no placement policy {name!r}" if name else "a placement policy has no name"
    return f"{said}{guess} Known: {', '.join(known)}"
