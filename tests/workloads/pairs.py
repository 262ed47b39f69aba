"""Pairs of a management Job and its mirror that can be reached in life, any number of them, the same for the same seed.

Pairs of one story follow each other: each starts from the status that the pair before left behind, after its `edits`.
So a server that is given the edits, then the returned status, pair by pair, goes through the whole story.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from .stories import ADAPTER, Pair, Story, as_object

STEPS = 120


def pairs(number: int, seed: int) -> Iterator[Pair]:
    """So many pairs for which there is something to write."""
    story = 0
    while number > 0:
        for pair in _told(story, seed):
            yield pair
            number -= 1
            if number == 0:
                return
        story += 1


def _told(story: int, seed: int) -> list[Pair]:
    found: list[Pair] = []
    skipped: list[Any] = []

    def note(pair: Pair) -> dict[str, Any] | None:
        status = ADAPTER.merged_status(as_object(pair.original), as_object(pair.mirror))
        if status is None:
            skipped.extend(pair.edits)
        else:
            found.append(Pair(pair.story, (*skipped, *pair.edits), pair.original, pair.mirror))
            skipped.clear()
        return status

    Story(story, random.Random(f"{seed}/{story}"), note).play(STEPS)
    return found
