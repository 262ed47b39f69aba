"""The tone of a state, which is what the dashboard and the commands colour it by.

good: it goes well; done: it has ended well; wait: it waits, or part of it does not work; bad: it needs somebody; calm:
nothing to see.
"""

from __future__ import annotations

from typing import Final

__all__ = ["tone"]

_TONES: Final = {
    "Running": "good", "NotRunning": "bad", "Lost": "bad", "Complete": "done", "Finished": "done", "Failed": "bad",
    "Suspended": "calm", "Terminating": "calm", "Deleting": "calm", "WorkerLost": "bad", "Frozen": "bad",
    "Refused": "bad",
    "connected": "good", "unreachable": "bad", "lost": "bad",
    "ok": "good", "yes": "good", "missing": "bad", "Normal": "calm",
}  # fmt: skip


def tone(state: str) -> str:
    """The tone of a status, a stage, a worker's state, the result of a check or the type of an event."""
    return _TONES.get(state, "wait")
