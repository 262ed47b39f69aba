"""Feeds an auditor with the Jobs of a living cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import IO

import click

from jobrelay.apimachinery.times import format_time
from jobrelay.conformance import AuditFinding, Auditor, record_line
from jobrelay.kube import Cache, Client, Clock, Forbidden, Object, SystemClock, Unauthorized
from jobrelay.kube.resource import JOBS

__all__ = ["JobAudit"]


class JobAudit:
    """Watches Jobs, reports what an auditor finds, and records what it was shown.

    Only Jobs that are created while it watches are judged from their beginning on.
    """

    def __init__(
        self,
        client: Client,
        namespace: str | None,
        auditor: Auditor,
        tell: Callable[[AuditFinding], None],
        file: IO[bytes] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._auditor, self._tell, self._file = auditor, tell, file
        self._clock = clock or SystemClock()
        self._cache = Cache(client, JOBS, namespace, clock=self._clock, terminal=(Forbidden, Unauthorized))
        self._cache.subscribe(self._changed)
        self.synced = self._cache.synced

    async def run(self) -> None:
        """Audit until cancelled; raises KubeError if Jobs may not be read."""
        saying = asyncio.create_task(self._say_begin())
        try:
            await self._cache.run()
        finally:
            saying.cancel()
            await asyncio.wait({saying})

    async def _say_begin(self) -> None:
        await self.synced.wait()
        click.echo(f"watching {len(self._cache)} Jobs", err=True)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        seen = new or old
        assert seen is not None
        job, time = seen.decode(), format_time(self._clock.now())
        if self._file is not None:
            word = "DELETED" if new is None else "ADDED" if old is None else "MODIFIED"
            self._file.write(record_line(time, word, job))
            self._file.flush()
        for finding in self._auditor.seen(job, time, created=old is None and self.synced.is_set()):
            self._tell(finding)
        if new is None:
            self._auditor.gone(job)
