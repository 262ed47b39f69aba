"""How long the pages of a list can be read: a real server forgets old versions every five minutes."""

from __future__ import annotations

import datetime as dt
from collections import deque
from typing import Final

from jobrelay.cluster.store import VersionTooOld

KEPT: Final = dt.timedelta(minutes=5)
_STEP: Final = dt.timedelta(seconds=1)


class ShownPages:
    """Which versions were shown in pages, and when. A version expires with all that came before it."""

    def __init__(self) -> None:
        self._shown: deque[tuple[dt.datetime, int]] = deque()
        self._expired = 0

    def shown(self, version: int, now: dt.datetime) -> None:
        """Notes a version, one for each second at most."""
        self._forget(now)
        if not self._shown or (now - self._shown[-1][0] >= _STEP and version > self._shown[-1][1]):
            self._shown.append((now, version))

    def check(self, version: int, now: dt.datetime) -> None:
        """Raises VersionTooOld for a version that was shown too long ago; versions below 1 stand for the newest."""
        self._forget(now)
        if 0 < version <= self._expired:
            raise VersionTooOld(version, self._expired + 1)

    def _forget(self, now: dt.datetime) -> None:
        while self._shown and now - self._shown[0][0] >= KEPT:
            self._expired = self._shown.popleft()[1]
