"""One worker as a candidate for one workload, and the guards that hold under every policy.

A guard is a cheap test and, apart from it, the text that says why; texts are made only when somebody reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

from jobrelay.relay.model import State, WorkerFacts
from jobrelay.relay.names import CLUSTER_SELECTOR, CLUSTERS, NAMESPACES, STATE

from .amounts import down, text
from .fit import Fit, fit
from .guests import Refuse
from .needs import Needs
from .wish import Wish

__all__ = ["EQUAL", "GUARDS", "Case", "Guard"]

EQUAL: Final = 1e-9
"""Scores that differ by less are equal."""
MOST_OPEN: Final = 128
"""A worker that lets this many requests wait gets no more: if it hangs, that is all that hangs with it."""


class Case:
    """A worker, a workload, and what was found out about the two on the way to a decision."""

    __slots__ = ("fit", "load", "needs", "ok", "position", "raw", "refused", "room", "score", "wish", "worker")

    def __init__(self, position: int, worker: WorkerFacts, needs: Needs, wish: Wish) -> None:
        self.position = position
        self.worker = worker
        self.needs = needs
        self.wish = wish
        self.fit: Fit | None = None
        """What its nodes can do; None if that is not known, or did not matter."""
        self.room = 0
        """How many of the pods fit now."""
        self.load = 1.0
        """How full it is with them there."""
        self.refused: Guard | Refuse | None = None
        self.ok = False
        self.raw: list[float] = []
        self.score = 0.0

    @property
    def enough(self) -> bool:
        """Whether all pods fit now as far as is known."""
        return self.fit is None or self.room >= self.needs.pods

    @property
    def sure(self) -> bool:
        """Whether there is room for all pods, or nothing speaks against it."""
        return not self.worker.pending if self.fit is None else self.room >= self.needs.pods

    @property
    def later(self) -> bool:
        """Whether all pods would fit if nothing else ran there."""
        return self.fit is not None and self.fit.ever >= self.needs.pods


class Guard(NamedTuple):
    """A reason to refuse a worker."""

    refuses: Callable[[Case], bool]
    why: Callable[[Case], Refuse]
    matters: Callable[[Wish], bool] = lambda wish: True
    """Whether it has to be asked at all."""


def _why_not_pinned(case: Case) -> Refuse:
    return Refuse(
        f"the workload may run on {' or '.join(case.wish.pinned)} only", f"naming it in annotation {CLUSTERS}"
    )


def _why_not_selected(case: Case) -> Refuse:
    return Refuse(
        f"its labels do not match {case.wish.selector}",
        f"other labels on the worker, or another annotation {CLUSTER_SELECTOR}",
    )


def _why_elsewhere(case: Case) -> Refuse:
    served = case.worker.namespaces
    many = "namespace" if len(served) == 1 else "namespaces"
    return Refuse(f"it serves only {many} {', '.join(served)}", f"its annotation {NAMESPACES} naming this one")


def _not_standing(case: Case) -> bool:
    worker = case.worker
    closed = worker.state is not State.OPEN or not worker.connected
    return closed or worker.stale > 0 or worker.backlog >= MOST_OPEN


def _why_not_standing(case: Case) -> Refuse:
    worker = case.worker
    if worker.state is not State.OPEN:
        said = "declared lost" if worker.state is State.LOST else str(worker.state)
        return Refuse(f"it is {said}", f"annotation {STATE} without {worker.state}")
    if not worker.connected:
        since = f" since {worker.lost_since:%Y-%m-%dT%H:%M:%SZ}" if worker.lost_since else ""
        return Refuse(
            f"it does not answer{since}" + (f": {worker.reason}" if worker.reason else ""), "it answers again"
        )
    if not worker.stale:
        return Refuse(f"it has not answered {worker.backlog} earlier requests yet", "it answers them")
    what = "a mirror of a workload that moved away has" if worker.stale == 1 else "mirrors that moved away have"
    return Refuse(f"{what} to be stopped there first ({worker.stale} left)", "they are stopped")


def _why_excluded(case: Case) -> Refuse:
    said = case.wish.excluded[case.worker.name]
    return Refuse(f"it is set aside for this workload: {said}", "it takes the workload when it is asked again")


def _hopeless(case: Case) -> bool:
    """Whether no pod could ever run there. Also adds up the nodes, for all that comes after."""
    found = case.fit = fit(case.needs, case.worker.name, case.worker.capacity)
    return found is not None and not found.ever and found.pods > 0


def _why_hopeless(case: Case) -> Refuse:
    return _why_too_small(case) if case.fit is not None and case.fit.eligible else _why_no_node(case)


def _why_no_node(case: Case) -> Refuse:
    wants = []
    for need in case.needs.sets:
        wants += [f"{key}={value}" for key, value in need.selector]
        if (need.affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution"):
            wants.append("node affinity")
    nodes = case.worker.capacity.nodes
    taints = sorted({str(taint.get("key", "")) for node in nodes for taint in node.taints})
    asked = f"; they want {', '.join(dict.fromkeys(wants))}" if wants else ""
    found = f"; nodes have taints {', '.join(taints)}" if taints else ""
    return Refuse(
        f"0/{len(nodes)} nodes take the pods{asked}{found}",
        "a node with fitting labels and tolerated taints",
    )


def _why_too_small(case: Case) -> Refuse:
    short = []
    for need in case.needs.sets:
        for name, amount in need.requests:
            most = max(
                (down(node.allocatable.get(name, Fraction(0))) for node in case.worker.capacity.nodes), default=0
            )
            if most < amount:
                short.append(f"a pod needs {text(name, amount)}, its largest node has {text(name, most)}")
    why = "; ".join(dict.fromkeys(short)) or "no single node has all that a pod needs"
    return Refuse(f"0/{len(case.worker.capacity.nodes)} nodes are large enough: {why}", "a larger node")


GUARDS: Final = (
    Guard(
        lambda case: True,
        lambda case: Refuse(f"the workload's wishes cannot be read: {case.wish.problem}", "a corrected annotation"),
        lambda wish: bool(wish.problem),
    ),
    Guard(
        lambda case: case.worker.name not in case.wish.pinned,
        _why_not_pinned,
        lambda wish: bool(wish.pinned),
    ),
    Guard(
        lambda case: not case.wish.selector.matches(case.worker.labels),
        _why_not_selected,
        lambda wish: not wish.selector.empty,
    ),
    Guard(lambda case: not case.worker.serves(case.wish.namespace), _why_elsewhere, lambda wish: bool(wish.namespace)),
    Guard(_not_standing, _why_not_standing),
    Guard(lambda case: case.worker.name in case.wish.excluded, _why_excluded, lambda wish: bool(wish.excluded)),
    Guard(_hopeless, _why_hopeless),
)
"""In the order in which they are asked; the first that refuses gives the reason."""
