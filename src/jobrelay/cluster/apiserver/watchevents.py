"""The events of watches as bytes, and which changes they are about: made once for all watchers that want the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from jobrelay.cluster.apiserver import errors, represent
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.selection import Selection
from jobrelay.cluster.store import Change, Item


def frame(kind: str, body: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"


def error_frame(error: errors.ApiError) -> bytes:
    return frame("ERROR", represent.encode(error.status()))


class EncodedEvents:
    """The encoded events of the latest changes, shared by all watchers of a server."""

    _KEPT: Final = 256
    _KEPT_BYTES: Final = 16 * 1024 * 1024

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[int, str, str, str, str], bytes] = OrderedDict()
        self._size = 0

    def get(self, version: int, kind: str, served: ServedResource, form: str, make: Callable[[], bytes]) -> bytes:
        key = (version, kind, served.api_version, served.plural, form)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make()
            self._size += len(found)
            while len(self._made) > self._KEPT or self._size > self._KEPT_BYTES:
                self._size -= len(self._made.popitem(last=False)[1])
        return found


class SelectionMatches:
    """Which states of objects match a selection, computed once for equal selections.

    The state before a change was the state after an earlier one, so each state is usually evaluated once. Nothing is
    remembered of long selections, which clients could fill the memory with.
    """

    _KEPT: Final = 4096

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[int, ServedResource, Any], bool] = OrderedDict()

    def of(self, selection: Selection, change: Change) -> tuple[bool, bool]:
        """Whether the object matches before and after a change."""
        if selection.everything:
            return change.before is not None, change.after is not None
        return self._matches(selection, change.before), self._matches(selection, change.after)

    def _matches(self, selection: Selection, item: Item | None) -> bool:
        if item is None or selection.long:
            return item is not None and selection.matches(item)
        key = (item.version, selection.served, selection.key)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = selection.matches(item)
            if len(self._found) > self._KEPT:
                self._found.popitem(last=False)
        return found
