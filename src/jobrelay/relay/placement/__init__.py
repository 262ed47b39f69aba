"""Which worker a workload goes to: pure functions over what is known of the workers, and every decision explained.

`place` is called for every workload, so it does little: what the nodes of a worker can hold is remembered until its capacity
changes (`fit`), and texts are made only when they are read (`explain`). `CapacityTracker` keeps the capacity up to date
from a worker's nodes and pods.
"""

from __future__ import annotations

from .capacity import CapacityTracker
from .decide import Placement, alike, place
from .explain import Part, Verdict
from .guests import Guests, Refuse
from .policy import DEFAULT, Policy, PolicyError, parse_policy
from .wish import Wish, wish

__all__ = [
    "DEFAULT",
    "CapacityTracker",
    "Guests",
    "Part",
    "Placement",
    "Policy",
    "PolicyError",
    "Refuse",
    "Verdict",
    "Wish",
    "alike",
    "parse_policy",
    "place",
    "wish",
]
