"""Annotations of an original that nearly have the name of one of ours: they have no effect, which users do not expect.

A name that is not like any of ours is not judged: others, and later versions, may use it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from jobrelay.kube import EventNote
from jobrelay.relay import names
from jobrelay.workloads.names import ASSIGNMENT, DOMAIN

__all__ = ["misspelled"]

_READ: Final = (names.CLUSTERS, names.PREFERRED, names.CLUSTER_SELECTOR, names.FENCING)
"""What users set on originals."""
_OURS: Final = frozenset({*_READ, ASSIGNMENT, names.PLACEMENT, names.NAMESPACES})
_ALIKE: Final = 0.7


def misspelled(annotations: Iterable[str]) -> tuple[EventNote, ...]:
    """One event about all annotations that were probably meant to be others; none if there are none."""
    unknown = sorted(each for each in annotations if each.startswith(DOMAIN) and each not in _OURS)
    found = [(each, meant) for each in unknown if (meant := _meant(each))]
    if not found:
        return ()
    told = "; ".join(f"annotation {each} means nothing, did you mean {meant}?" for each, meant in found)
    return (EventNote("MisspelledAnnotation", told[0].upper() + told[1:], "Warning"),)


def _meant(name: str) -> str:
    known = {each.removeprefix(DOMAIN): each for each in _READ}
    close = get_close_matches(name.removeprefix(DOMAIN).lower(), known, n=1, cutoff=_ALIKE)
    return known[close[0]] if close else ""
