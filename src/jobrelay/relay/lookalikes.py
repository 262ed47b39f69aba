"""Objects on workers that have our label and the uid of an original, but are not proven to be its mirror.

A look-alike is never reported, adopted, changed or deleted. Each one is reported once, by an event on the original that
it names, and for as long as it exists by `jobrelay explain` and a metric.

What it may do to its original depends on where it is. Anywhere else than the mirror would be it does nothing at all. In
the very place of a mirror (namespace and name, on a worker that answers) it may be a real one, whose annotations were
changed while no relay ran, or whose key was lost. Then a second run must not start beside it, and there would be no
name for one on that worker anyway. So the next run waits until someone has decided which of the two it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from jobrelay.kube.objects import Key

_NONE: Mapping[tuple[str, Key], LookAlike] = {}


class LookAlike(NamedTuple):
    """One look-alike: its worker, whether that is the management cluster itself, and its kind, key and own uid."""

    worker: str
    own_cluster: bool
    kind: str
    key: Key
    uid: str

    def __str__(self) -> str:
        return f"{self.kind} {self.key} on {self.worker}"


class LookAlikes:
    """The look-alikes of one kind by the uid of the original that they name."""

    def __init__(self) -> None:
        self._found: dict[str, dict[tuple[str, Key], LookAlike]] = {}
        self._untold: dict[str, dict[tuple[str, Key], LookAlike]] = {}

    def of(self, uid: str) -> Mapping[tuple[str, Key], LookAlike]:
        """The look-alikes that name an original, by worker and key."""
        return self._found.get(uid, _NONE)

    def take_unreported(self, uid: str) -> list[LookAlike]:
        """Those that no event has reported yet; the caller reports them."""
        return list(self._untold.pop(uid, _NONE).values())

    def add(self, named: str, found: LookAlike) -> None:
        """An object names the original with this uid."""
        place = (found.worker, found.key)
        if self.of(named).get(place) != found:
            for held in (self._found, self._untold):
                held.setdefault(named, {})[place] = found

    def remove(self, named: str, worker: str, key: Key) -> None:
        """An object is gone, or names another original now."""
        for held in (self._found, self._untold):
            places = held.get(named)
            if places is not None and places.pop((worker, key), None) is not None and not places:
                del held[named]

    def forget_worker(self, worker: str) -> None:
        """A worker is no longer registered."""
        gone = [(named, *place) for named, places in self._found.items() for place in places if place[0] == worker]
        for named, _, key in gone:
            self.remove(named, worker, key)


def ignored(found: LookAlike) -> str:
    """The message about a look-alike that is not where a mirror would be."""
    return f"{found} claims to be a mirror of this without a valid proof; it is ignored"


def in_the_way(found: LookAlike) -> str:
    """The message about one that is: it may be a mirror."""
    return (
        f"{found} is where the mirror of this would be and names it, but its proof is not valid: it may be the mirror, "
        "and is left alone; delete it there, or restore the Secret with the key that it was created with"
    )
