"""What this machine is worth right now: the CPU that it needs to read and write the same Job with the standard library.

Taken between the rounds of a measurement, so that both see the same neighbours.
"""

from __future__ import annotations

import json
import os
import pathlib
import time
from typing import Final

from bench import jobs

_ROUNDS: Final = 1500
_BODY: Final = jobs.body("calibration")


def round_trip() -> float:
    """CPU seconds of one reading and writing."""
    begin = time.thread_time()
    for _ in range(_ROUNDS):
        json.dumps(json.loads(_BODY))
    return (time.thread_time() - begin) / _ROUNDS


def stolen_seconds() -> float:
    """Seconds of all cores so far in which the machine wanted to run and its host ran somebody else."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")
