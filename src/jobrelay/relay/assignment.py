"""The worker and epoch of a workload, as written on the original.

The assignment is the only thing that the relay persists about a workload. It is written before anything is created on a
worker (commit-first), and its epoch grows with each run, so that of two mirrors the one with the lower epoch is the
stale one.
"""

from __future__ import annotations

import msgspec

from jobrelay.kube import Object
from jobrelay.workloads.names import ASSIGNMENT, EPOCH


class Assignment(msgspec.Struct, frozen=True, omit_defaults=True):
    """The worker that runs a workload, and the number of this run."""

    cluster: str
    epoch: int
    since: str = ""
    """When the worker was chosen."""
    previous: str = ""
    """The worker of the previous run."""

    def encode(self) -> str:
        return _encoder.encode(self).decode()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Assignment)


def assignment_of(obj: Object) -> Assignment | None:
    """The assignment on an original; None if it has none, or an invalid one."""
    text = obj.metadata.annotations.get(ASSIGNMENT)
    if not text:
        return None
    try:
        found = _decoder.decode(text)
    except msgspec.DecodeError:
        return None
    return found if found.cluster and found.epoch > 0 else None


def epoch_of(mirror: Object) -> int:
    """The epoch of a mirror; 0 if its annotation is missing or invalid."""
    text = mirror.metadata.annotations.get(EPOCH, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0
