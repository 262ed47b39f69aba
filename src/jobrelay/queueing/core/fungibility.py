"""Which of several flavors is the best, and when the search for a better one ends."""

from __future__ import annotations

from typing import Final

from .decisions import Mode
from .model import FlavorFungibility

Quality = tuple[Mode, int]
"""How well a flavor fits, and how far up the tree quota has to come from."""
WORST: Final[Quality] = (Mode.NO_FIT, 2**31)
BEST: Final[Quality] = (Mode.FIT, 0)


def preferred(one: Quality, other: Quality, policy: FlavorFungibility) -> bool:
    """Whether the first is better. One without candidates for preemption is better only than one that never fits."""
    if Mode.NO_FIT in (one[0], other[0]):
        return one[0] != Mode.NO_FIT
    if (one[0] == Mode.NO_CANDIDATES) != (other[0] == Mode.NO_CANDIDATES):
        return other[0] == Mode.NO_CANDIDATES
    if policy.preference == "PreemptionOverBorrowing":
        return (-one[1], one[0]) > (-other[1], other[0])
    return (one[0], -one[1]) > (other[0], -other[1])


def goes_on(found: Quality, policy: FlavorFungibility) -> bool:
    """Whether further flavors are tried after one that fits like this."""
    mode, borrowing = found
    if mode in (Mode.NO_FIT, Mode.NO_CANDIDATES):
        return True
    if mode.preempts and policy.when_can_preempt == "TryNextFlavor":
        return True
    return borrowing > 0 and policy.when_can_borrow == "TryNextFlavor"
