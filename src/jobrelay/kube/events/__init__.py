"""Events about objects, recorded in the background.

    EventRecorder.event --> EventCoalescer --> EventCorrelator --> pending series --> run(): create or patch
                            (under load)       new, repeated,
                                               combined, too many

`EventRecorder.event` never waits and never raises: no operation may fail because an Event about it could not be
written.

There are two APIs for Events, and Kubernetes' components use both. `EVENTS_V1` (`events.k8s.io/v1`, as kube-scheduler)
counts repetitions in a series that is written at most every 30 seconds. `CORE_V1` (`v1`, as kube-controller-manager)
follows client-go's `tools/record`: each repetition raises the count of the first Event, and many similar ones are
combined.
"""

from __future__ import annotations

from .apis import CORE_V1, EVENTS_V1, EventApi
from .messages import EventNote, ObjectReference
from .recorder import EventRecorder

__all__ = ["CORE_V1", "EVENTS_V1", "EventApi", "EventNote", "EventRecorder", "ObjectReference"]
