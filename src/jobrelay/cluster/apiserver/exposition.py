"""Figures in Prometheus' text form: families of samples with their type and a word on what they mean."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable, Iterator
from typing import Final

Labels = dict[str, str]
Sample = tuple[str, Labels, float]  # what follows the family's name, the labels, the value
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def family(name: str, kind: str, meaning: str, samples: Iterable[Sample]) -> Iterator[str]:
    """The lines of one family; `kind` is counter, gauge, histogram or summary."""
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
    for suffix, labels, value in samples:
        yield f"{name}{suffix}{_braced(labels)} {_number(value)}"


def single(name: str, kind: str, meaning: str, value: float) -> Iterator[str]:
    """The lines of a family that is one figure."""
    return family(name, kind, meaning, [("", {}, value)])


def _braced(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items()) + "}"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(value)


def process_figures() -> Iterator[str]:
    """What the operating system tells about this process; several clusters in one process show the same figures."""
    yield from single(
        "process_cpu_seconds_total", "counter", "Seconds of CPU time that the process has used.", time.process_time()
    )
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    yield from single("process_max_fds", "gauge", "How many files the process may have open.", limit)
    try:
        with open("/proc/self/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
        with open("/proc/stat", "rb") as machine:
            booted = next(int(line.split()[1]) for line in machine if line.startswith(b"btime"))
        files = len(os.listdir("/proc/self/fd"))
    except OSError:  # not a Linux: these figures are left out
        return
    yield from single("process_open_fds", "gauge", "How many files the process has open.", files)
    resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    yield from single("process_resident_memory_bytes", "gauge", "Bytes of memory that the process occupies.", resident)
    yield from single(
        "process_virtual_memory_bytes", "gauge", "Bytes of address space of the process.", int(fields[20])
    )
    started = booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    yield from single("process_start_time_seconds", "gauge", "When the process began, in seconds since 1970.", started)
