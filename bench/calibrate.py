"""What this machine is worth right now: the CPU that it needs to read and write the same Job with the standard library.

Taken in slices between the rounds of a measurement, so that both see the same neighbours.
"""

from __future__ import annotations

import json
import time

from bench import jobs


class Calibration:
    def __init__(self) -> None:
        self._rounds = 0
        self._cpu = 0.0
        self._body = jobs.body("calibration")

    def slice(self, rounds: int = 3000) -> None:
        begin = time.thread_time()
        for _ in range(rounds):
            json.dumps(json.loads(self._body))
        self._cpu += time.thread_time() - begin
        self._rounds += rounds

    @property
    def seconds(self) -> float:
        """CPU seconds of one reading and writing."""
        return self._cpu / self._rounds
