"""Dominant resource shares, by which fair sharing compares queues and cohorts.

The share of a node is the largest, over all resources, of what it uses beyond its own quota, in thousandths of what its
parent could use at most, divided by its weight. With weight 0, a node that borrows anything has a larger share than any
other.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from .model import FlavorResource
from .tree import QuotaNode


class Share(NamedTuple):
    """What nodes are compared by."""

    key: tuple[int, float]
    """Orders shares; those of weight 0 that borrow are last."""
    resource: str = ""
    """The dominant resource."""
    borrowed: tuple[FlavorResource, ...] = ()
    """What is used beyond the own quota, whatever share that is."""

    @property
    def infinite(self) -> bool:
        return self.key[0] > 0

    @property
    def rounded(self) -> int:
        """`weightedShare` of a status."""
        return 2**63 - 1 if self.infinite else -int(-self.key[1] // 1)

    def borrows(self, requested: Container[FlavorResource]) -> bool:
        """Whether any of what is requested is borrowed."""
        return any(each in requested for each in self.borrowed)


NOTHING: Final = Share((0, 0.0))
LEAST: Final = Share((0, -1.0))


def share(node: QuotaNode) -> Share:
    """The share of a node as it is now; the root of a tree has none."""
    if node.parent is None:
        return NOTHING
    usage, subtree = node.usage, node.subtree
    borrowed = [each for each, used in usage.items() if each in subtree and used > subtree[each]]
    if not borrowed:
        return NOTHING
    totals: dict[str, int] = {}
    for each in borrowed:
        totals[each[1]] = totals.get(each[1], 0) + usage[each] - subtree[each]
    lendable, ratio, dominant = node.parent.lendable(), 0.0, ""
    for resource in sorted(totals):
        if (most := lendable.get(resource, 0)) > 0 and (value := totals[resource] * 1000.0 / most) > ratio:
            ratio, dominant = value, resource
    if not ratio:
        return Share((0, 0.0), "", tuple(borrowed))
    key = (0, ratio / node.weight) if node.weight else (1, ratio)
    return Share(key, dominant, tuple(borrowed))
