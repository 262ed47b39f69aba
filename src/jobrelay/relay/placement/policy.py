"""A placement policy: which scores count, with which weights, and whether workloads wait for room. Parsed from a text
such as `least-loaded*2,cost`.

Two scores are part of every policy unless it names them itself: `preferred`, because the workload asks for it, and
`sticky`. Their weights put them before all others.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .plugins import PolicyPlugins
from .scores import RELATIVE, SCORES, Score

DEFAULT_POLICY: Final = "fit,least-loaded,affinity"
_MODES: Final = ("fit", "overflow")
_ALWAYS: Final = (("preferred", 100.0), ("sticky", 10.0))


class PolicyError(ValueError):
    """A text that is not a policy; the message says what is wrong and suggests the nearest name."""


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """One built-in score and its weight."""

    name: str
    weight: float
    score: Score


@dataclass(frozen=True, slots=True)
class PlacementPolicy:
    """How workers are compared."""

    scores: tuple[WeightedScore, ...]
    plugins: tuple[tuple[str, float], ...] = ()
    """Names and weights of the plugins, in the order in which they are evaluated."""
    waits: bool = True
    """Whether a workload waits at the relay while no worker has room for all of its pods."""

    @property
    def relative(self) -> bool:
        """Whether what a worker gets depends on other workers, or may: nobody knows what a plugin does."""
        return bool(self.plugins) or any(one.name in RELATIVE for one in self.scores)


def parse_policy(text: str, plugins: PolicyPlugins | None = None) -> PlacementPolicy:
    """Parse a policy, an empty text as the default one; `plugins` are those of the installed packages if not given."""
    weights: dict[str, float] = {}
    for item in (text.strip() or DEFAULT_POLICY).split(","):
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
    return _policy(weights or {"least-loaded": 1.0, "affinity": 1.0}, waits, plugins or PolicyPlugins())


def _policy(weights: dict[str, float], waits: bool, installed: PolicyPlugins) -> PlacementPolicy:
    plugins = tuple((name, weight) for name, weight in weights.items() if name not in SCORES)
    for name, _ in plugins:
        if name not in installed.names:
            raise PolicyError(_unknown(name, [*_MODES, *SCORES, *installed.names]))
        installed.load(name)  # now, so that one that cannot be loaded is reported at once
    chosen = {name: weight for name, weight in (dict(_ALWAYS) | weights).items() if name in SCORES and weight}
    return PlacementPolicy(
        tuple(WeightedScore(name, weight, SCORES[name]) for name, weight in chosen.items()), plugins, waits
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
