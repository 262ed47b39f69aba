"""The relay's sentence in the few words that fit a table: who and how much, without the grammar.

    0/1 nodes are large enough: a pod needs 64 cpu, its largest node has 2 cpu    ->  needs 64 cpu, largest node 2
    has no room now: needs 2 cpu for 1 pod, 0 of 2 cpu free on 1 node             ->  needs 2 cpu, 0 of 2 free
    It has been running on a since 2026-01-01T12:00:00Z, with trouble: pod x: ... ->  pod x: ...

Workers that reject a workload for the same reason are counted instead of named. What is not recognised stays as it is:
`-o wide` and `jobrelay explain` have the whole sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

__all__ = ["short_reason"]

_IN_LINE: Final = re.compile(r"Place (?P<place>\d+ of \d+)[^.]*\. (?P<sentence>.*)", re.DOTALL)
_REJECTED: Final = "Waits for a worker that can take it. "
_ROOM: Final = re.compile(r"Waits for room on .*?; the nearest is (?P<worker>\S+), which (?P<why>.*)\.")
_PODS: Final = re.compile(
    r"(?:None of its pods runs on \S+, where it was started at \S+?|It has been running on .*?, with trouble"
    r"|It failed \([^)]*\), on [^:]*): (?P<why>.*)\.",
    re.DOTALL,
)
_LOST: Final = re.compile(r"(?P<what>\S+ has been unreachable since \S+) \(.*", re.DOTALL)
_TOO_SMALL: Final = re.compile(
    r"0/\d+ nodes are large enough: a pod needs (?P<amount>\S+) (?P<name>\S+), its largest node has (?P<most>\S+) \S+"
)
_TIGHT: Final = re.compile(
    r"(?:has no room now|is too small for all pods at once): needs (?P<amount>\S+) (?P<name>\S+?)(?: for \d+ pods?)?, "
    r"(?P<free>\S+) of (?P<most>\S+) \S+ free on (?P<nodes>\d+) nodes?"
)


def short_reason(sentence: str) -> str:
    """The reason why a workload waits, for a column of a table."""
    if found := _IN_LINE.fullmatch(sentence):
        return f"{short_reason(found['sentence'])} (place {found['place']})"
    if sentence.startswith(_REJECTED):
        return _by_all(sentence.removeprefix(_REJECTED).rstrip("."))
    if found := _ROOM.fullmatch(sentence):
        return f"{_short(found['why'])} on {found['worker']}"
    if found := _PODS.fullmatch(sentence):
        return found["why"]
    if found := _LOST.fullmatch(sentence):
        return found["what"]
    return sentence


def _by_all(reasons: str) -> str:
    split = [each.partition(": ") for each in reasons.split("; ")]
    if not all(colon for _, colon, _ in split):
        return reasons  # a reason has semicolons of its own, or some workers are only counted
    counts = Counter(_short(why) for _, _, why in split)
    if len(counts) == 1:
        return next(iter(counts))
    first = {_short(why): worker for worker, _, why in reversed(split)}
    return "; ".join(f"{first[why] if count == 1 else f'{count} workers'}: {why}" for why, count in counts.items())


def _short(why: str) -> str:
    if found := _TOO_SMALL.match(why):
        return f"needs {found['amount']} {found['name']}, largest node {found['most']}"
    if found := _TIGHT.match(why):
        return f"needs {found['amount']} {found['name']}, {found['free']} of {found['most']} free"
    return why
