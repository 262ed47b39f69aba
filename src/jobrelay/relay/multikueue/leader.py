"""What the controllers of MultiKueue share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jobrelay.kube import Client, Clock, EventRecorder


@dataclass(frozen=True, slots=True)
class LeaderContext:
    """What a controller needs to write to the management cluster while this replica leads."""

    client: Client
    recorder: EventRecorder
    clock: Clock
    leads: Callable[[], bool]
    grace: float
    """How long running work may take to end when the relay is stopped."""
