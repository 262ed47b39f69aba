"""Calibrates figures by the CPU that this machine needs to decode and encode the same Job with the standard library.

It is measured between the rounds of a measurement, so that both see the same load from other users of the machine.
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
    """CPU seconds of decoding and encoding the Job once."""
    begin = time.thread_time()
    for _ in range(_ROUNDS):
        json.dumps(json.loads(_BODY))
    return (time.thread_time() - begin) / _ROUNDS


def stolen_seconds() -> float:
    """Seconds of steal time of all cores so far."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")
