"""Which runs of a workload may exist.

A run exists from the moment at which the creation of its mirror may have been sent, and until it is proven gone by a
consistent read from its own cluster. That a mirror is not seen proves nothing: a request may be under way, its answer
may be lost, and another replica may have sent it.

This is what one process knows. It starts with the assignment and the runs that it holds, so losing it costs another
proof and never safety.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from jobrelay.relay.model import WorkerFacts
from jobrelay.relay.worker_assignment import Run

_UNKNOWN: Final = 0
"""The epoch of a run that may exist although no assignment that is known names it."""


def unknown_runs(workers: Iterable[WorkerFacts], started: str) -> tuple[Run, ...]:
    """The runs of a workload that was started by an assignment that is lost: each of these workers may have one.

    That no mirror is seen there proves nothing: it may have been deleted without its pods, or have lost its label.
    """
    return tuple(Run(worker.name, _UNKNOWN, worker.identity, started) for worker in workers)


def unregistered_run(started: str) -> Run:
    """The run of such a workload on a worker that is not registered any more; nobody knows its name if it was removed
    while no relay ran."""
    return Run("", _UNKNOWN, started=started)


class KnownRun(msgspec.Struct, frozen=True):
    """What this process knows about one run."""

    run: Run
    committed_here: bool = False
    """Whether this process wrote its assignment, so that nobody else can have sent its creation."""
    sent: bool = False
    """Whether this process sent the creation of its mirror, and no answer said that it had no effect."""
    released: bool = False
    """Whether this process sent something that lets its mirror run: a creation that does not suspend it, a release."""
    unsettled_at: float | None = None
    """When a creation last ended without an answer, in monotonic time: it may still take effect later."""
    gone: bool = False
    """Whether it is proven gone."""

    @property
    def may_exist(self) -> bool:
        return not self.gone and (self.sent or not self.committed_here)


class RunHistory:
    """The runs of one workload."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], KnownRun] = {}

    def __iter__(self) -> Iterator[Run]:
        return (known.run for known in self._runs.values())

    def __len__(self) -> int:
        return len(self._runs)

    def known(self, run: Run) -> KnownRun:
        """What is known about a run; of one that this process has not heard of: that it may exist."""
        return self._runs.get(run.key) or KnownRun(run)

    def may_exist(self, run: Run) -> bool:
        known = self._runs.get(run.key)
        return known is None or known.may_exist

    def is_withheld(self, run: Run) -> bool:
        """Whether a run has certainly not been released: its mirror, if there is one, is suspended."""
        known = self._runs.get(run.key)
        return known is not None and known.committed_here and not known.released

    def seen(self, run: Run) -> None:
        """The assignment of an original names a run, and perhaps its start."""
        known = self._runs.get(run.key)
        if known is None:
            self._runs[run.key] = KnownRun(run)
        elif known.run != run:
            self._runs[run.key] = replace(known, run=run)

    def committed(self, run: Run) -> None:
        """This process has written the assignment to a run, and has sent nothing for it before."""
        self._runs[run.key] = replace(self.known(run), committed_here=True)

    def creation_sent(self, run: Run, *, releases: bool = True) -> KnownRun:
        """The creation of its mirror is sent, which lets it run or does not; returns what was known before."""
        before = self.known(run)
        self._runs[run.key] = replace(before, sent=True, gone=False, released=before.released or releases)
        return before

    def release_sent(self, run: Run) -> None:
        """Something is sent that lets its mirror run."""
        self._runs[run.key] = replace(self.known(run), released=True)

    def creation_had_no_effect(self, before: KnownRun) -> None:
        """The cluster answered that it created nothing."""
        self._runs[before.run.key] = before

    def creation_unanswered(self, run: Run, now: float) -> None:
        """The outcome of a creation is not known."""
        self._runs[run.key] = replace(self.known(run), unsettled_at=now)

    def proved_gone(self, run: Run) -> None:
        self._runs[run.key] = replace(self.known(run), gone=True)


NO_RUNS = RunHistory()
"""The history of a workload that nothing is known about. It is never changed."""
