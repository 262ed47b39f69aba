"""Events on originals, told at a pace that the API server does not feel.

While there is room for them each thing is told in an Event of its own. When more happens than `rate` Events a second,
what is still unwritten about one workload is told in one Event: a workload that was placed, started and finished within a
busy second costs one write, and says the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from jobrelay.kube import Clock, EventRecorder, Object, Reference
from jobrelay.kube.clock import sleep
from jobrelay.relay.reconcile_original import Tell

__all__ = ["Telling"]


class Telling:
    """Collects what is to be told, and hands it to the recorder when its turn comes."""

    def __init__(self, recorder: EventRecorder, clock: Clock, *, rate: float = 20.0, burst: int = 40) -> None:
        self._recorder, self._clock = recorder, clock
        self._pause, self._burst = 1.0 / rate, burst
        self._tokens, self._filled_at = float(burst), 0.0
        self._unsaid: dict[str, tuple[Reference, list[Tell]]] = {}
        self._wake = asyncio.Event()

    def tell(self, about: Object, tells: Sequence[Tell]) -> None:
        """Notes what happened to an original and returns at once."""
        for tell in tells:
            found = self._unsaid.get(about.uid)
            if found is None:  # by reference: what waits here must not keep versions of objects alive
                found = self._unsaid[about.uid] = Reference.of(about), []
            found[1].append(tell)
            if self._allowed():
                self._say(about.uid)
            else:
                self._wake.set()

    async def run(self) -> None:
        """Tells the rest, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._unsaid:
                while not self._allowed():
                    await sleep(self._clock, self._pause)
                if self._unsaid:
                    self._say(next(iter(self._unsaid)))

    def _say(self, uid: str) -> None:
        about, noted = self._unsaid.pop(uid)
        last = noted[-1]
        kind: Literal["Normal", "Warning"] = "Warning" if any(each.type == "Warning" for each in noted) else "Normal"
        self._recorder.event(about, kind, last.reason, "; ".join(each.note for each in noted))

    def _allowed(self) -> bool:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) / self._pause)
        self._filled_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
