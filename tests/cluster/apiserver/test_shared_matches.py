"""Which states match a selection is looked at once, whoever asks, and never for the wrong object."""

from __future__ import annotations

import pytest

from jobrelay.apimachinery.selectors import parse_label_selector
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.selection import Selection
from jobrelay.cluster.apiserver.watchevents import SelectionMatches
from jobrelay.cluster.store import Change, Item

SHORT = "color=red"
LONG = f"color in (red,{','.join(f'{number:060d}' for number in range(20))})"


class Counting(Selection):
    """A selection that counts how often it is asked."""

    asked = 0

    def matches(self, item: Item | None) -> bool:
        self.asked += 1
        return super().matches(item)


def selection(text: str) -> Counting:
    served = ServedResource("", "v1", "configmaps", "ConfigMap", "configmap", True, ())
    return Counting(served, parse_label_selector(text), [])


def state(version: int, color: str) -> Item:
    return Item("default", "c", version, f'{{"metadata":{{"labels":{{"color":"{color}"}}}}}}'.encode())


def change(version: int, before: Item | None, after: Item | None) -> Change:
    return Change(version, before, after, b"")


@pytest.mark.parametrize("text", [SHORT, LONG])
def test_changes_are_matched_before_and_after(text: str) -> None:
    matches, chosen = SelectionMatches(), selection(text)
    red, blue = state(1, "red"), state(2, "blue")
    assert matches.of(chosen, change(1, None, red)) == (False, True)
    assert matches.of(chosen, change(2, red, blue)) == (True, False)
    assert matches.of(chosen, change(3, blue, None)) == (False, False)


def test_each_state_is_looked_at_once() -> None:
    matches, chosen = SelectionMatches(), selection(SHORT)
    red, blue = state(1, "red"), state(2, "blue")
    matches.of(chosen, change(1, None, red))
    matches.of(chosen, change(2, red, blue))
    assert chosen.asked == 2


def test_nothing_is_held_of_long_selections() -> None:
    matches, chosen = SelectionMatches(), selection(LONG)
    for _ in range(3):
        matches.of(chosen, change(1, None, state(1, "red")))
    assert chosen.asked == 3


def test_another_resource_with_the_same_selection_is_looked_at_itself() -> None:
    matches = SelectionMatches()
    assert matches.of(selection(SHORT), change(1, None, state(1, "red"))) == (False, True)
    assert matches.of(selection(SHORT), change(1, None, state(1, "blue"))) == (False, False)
