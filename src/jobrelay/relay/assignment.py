"""Where a workload runs, as it is written on the original.

The assignment is the relay's only durable memory of a workload. It is written before anything is created on a worker
(commit-first), and its epoch grows with every new run, so that of two mirrors the one with the lower epoch is always the
stale one.
"""

from __future__ import annotations

import msgspec

from jobrelay.kube import Object
from jobrelay.relay.names import ASSIGNMENT, EPOCH

__all__ = ["Assignment", "assignment_of", "epoch_of"]


class Assignment(msgspec.Struct, frozen=True, omit_defaults=True):
    """The worker that is to run a workload, and how many runs there have been."""

    cluster: str
    epoch: int
    since: str = ""
    """When it was decided."""
    previous: str = ""
    """The worker of the run before."""

    def encode(self) -> str:
        return _encoder.encode(self).decode()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Assignment)


def assignment_of(obj: Object) -> Assignment | None:
    """The assignment on an original; None if there is none, or none that can be read."""
    text = obj.metadata.annotations.get(ASSIGNMENT)
    if not text:
        return None
    try:
        found = _decoder.decode(text)
    except msgspec.DecodeError:
        return None
    return found if found.cluster and found.epoch > 0 else None


def epoch_of(mirror: Object) -> int:
    """The run that a mirror belongs to; 0 if its mark is gone."""
    text = mirror.metadata.annotations.get(EPOCH, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0
