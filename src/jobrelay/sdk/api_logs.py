"""The logs of a workload through the relay's API, for which a user needs no rights but those to their own workloads.

Each line is asked for with its pod and container in front. So a line without them is no part of a log: the relay says
with it that the workload moves, that a log breaks off, or that it is a kept one.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from jobrelay.kube import Client
from jobrelay.operate.relay_client import NotStarted, api_log
from jobrelay.sdk.errors import RelayError
from jobrelay.sdk.pod_logs import Emit, LogLine, LogOptions
from jobrelay.sdk.progress import PATIENCE
from jobrelay.workloads import Adapter

__all__ = ["ApiLogs"]

_POLL_INTERVAL: Final = 0.5
_LINE: Final = re.compile(rb"\[([a-z0-9.-]+)/([a-z0-9.-]+)\] (.*)", re.DOTALL)


class ApiLogs:
    """The logs of one workload; `note` is called with what the reader should know besides the lines."""

    def __init__(
        self,
        client: Client,
        adapter: Adapter,
        name: str,
        namespace: str,
        options: LogOptions,
        note: Callable[[str], None],
    ) -> None:
        self._client, self._adapter, self._name, self._namespace = client, adapter, name, namespace
        self._options, self._note = options, note

    async def read(self, emit: Emit, within: float) -> None:
        """All lines, once something has started; raises RelayError if nothing has `within` so many seconds, which do
        not count if it is followed, and KubeError."""
        now = asyncio.get_running_loop().time
        end = math.inf if self._options.follow else now() + within
        told, patient_until = "", now() + PATIENCE
        while True:
            try:
                async with api_log(
                    self._client, self._adapter.resource, self._name, self._namespace, self._query()
                ) as chunks:
                    async for line in _lines(chunks):
                        await self._take(line, emit)
                return
            except NotStarted as error:
                if now() >= end:
                    hint = f"`jobrelay explain {self._adapter.resource}/{self._name} -n {self._namespace}` says why"
                    raise RelayError(str(error), hint) from None
                if self._options.follow and str(error) != told and now() >= patient_until:
                    told = str(error)
                    self._note(told)
            await asyncio.sleep(_POLL_INTERVAL)

    async def _take(self, line: bytes, emit: Emit) -> None:
        found = _LINE.fullmatch(line)
        if found is None:
            self._note(line.decode(errors="replace").rstrip("\n").removeprefix("jobrelay: "))
        else:
            await emit(LogLine("", found[1].decode(), found[2].decode(), found[3]))

    def _query(self) -> dict[str, Any]:
        options = self._options
        return {
            "container": options.container,
            "tailLines": options.tail,
            "index": options.index,
            "sinceSeconds": math.ceil(options.since) if options.since is not None else None,
            "timestamps": "true" if options.timestamps else None,
            "follow": "true" if options.follow else None,
            "prefix": "true",
        }


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Whole lines of a text that comes in pieces."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest
