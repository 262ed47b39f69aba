"""Probes: how one is run, and the thresholds for its results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import aiohttp

from jobrelay.cluster.node.nodes import ADDRESS

Execute = Callable[[list[str], float], Awaitable[tuple[int, str]]]
_FAILURES: Final = (OSError, TimeoutError, aiohttp.ClientError)


def port_of(container: Mapping[str, Any], port: int | str) -> int:
    """The number of a port that may be given by name."""
    if isinstance(port, int):
        return port
    named = {one.get("name"): one["containerPort"] for one in container.get("ports") or ()}
    return int(named.get(port, port if port.isdecimal() else 0))


async def run_probe(probe: Mapping[str, Any], container: Mapping[str, Any], execute: Execute) -> tuple[bool, str]:
    """Runs a probe once: whether it succeeded, and its output if not."""
    within = float(probe.get("timeoutSeconds") or 1)
    try:
        if "exec" in probe:
            code, output = await execute(list(probe["exec"].get("command") or ()), within)
            return code == 0, output
        async with asyncio.timeout(within):
            if "httpGet" in probe:
                return await http_get(probe["httpGet"], container)
            wanted = probe.get("tcpSocket") or probe.get("grpc") or {}
            _, writer = await asyncio.open_connection(wanted.get("host") or ADDRESS, port_of(container, wanted["port"]))
            writer.close()
            return True, ""
    except _FAILURES as error:
        return False, str(error) or "context deadline exceeded"


async def http_get(wanted: Mapping[str, Any], container: Mapping[str, Any]) -> tuple[bool, str]:
    host, port = wanted.get("host") or ADDRESS, port_of(container, wanted["port"])
    url = f"{wanted.get('scheme', 'HTTP').lower()}://{host}:{port}{wanted.get('path') or '/'}"
    headers = {one["name"]: one.get("value", "") for one in wanted.get("httpHeaders") or ()}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=False) as answer:
        succeeded = 200 <= answer.status < 400
        return succeeded, "" if succeeded else f"HTTP probe failed with statuscode: {answer.status}"


class ProbeThresholds:
    """Counts equal results in a row: a threshold of them changes the state, which is None at first."""

    def __init__(self, probe: Mapping[str, Any]) -> None:
        self._needed = {True: int(probe.get("successThreshold") or 1), False: int(probe.get("failureThreshold") or 3)}
        self._last, self._count = True, 0
        self._healthy: bool | None = None

    def add(self, result: bool) -> bool | None:
        """The state after one more result."""
        self._count = self._count + 1 if result == self._last else 1
        self._last = result
        if self._count >= self._needed[result]:
            self._healthy = result
        return self._healthy
