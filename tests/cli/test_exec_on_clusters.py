"""A command's websocket through the API server of the management cluster, embedded or real, to the relay and on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from jobrelay.kube import Connection, Forbidden
from jobrelay.kube.remote_command import CLOSE, LARGEST_MESSAGE, PROTOCOLS, STATUS, STDIN, STDOUT, exit_code
from jobrelay.kube.websocket import open_websocket
from jobrelay.relay.workers import UsableKubeconfig
from tests.cli.exec_fleets import granted
from tests.loopback import LoopbackServer, authority
from tests.relay.api import serving_fleet
from tests.relay.fleets import Fleet, MakeFleet
from tests.relay.test_api_exec import ECHO, PATH, output, way


async def repeat(request: web.Request) -> web.StreamResponse:
    """Plays a worker's exec: says what it is told, and ends when its stdin does."""
    assert request.path.endswith("/exec")
    socket = web.WebSocketResponse(protocols=PROTOCOLS)
    await socket.prepare(request)
    async for message in socket:
        if message.data == bytes([CLOSE, STDIN]):
            break
        await socket.send_bytes(bytes([STDOUT]) + message.data[1:])
    await socket.send_bytes(bytes([STATUS]) + b'{"status":"Success"}')
    await socket.close()
    return socket


async def test_messages_go_both_ways_through_the_api_server(fleet: MakeFleet) -> None:
    """On real clusters too: there nothing runs commands, so the worker's answer is played on both."""
    async with LoopbackServer(repeat) as worker:
        played = Connection(f"https://127.0.0.1:{worker.port}", ca=authority().pair.certificate)

        @asynccontextmanager
        async def played_fleet(**options: Any) -> AsyncIterator[Fleet]:
            async with fleet(start=False, **options) as it:
                for name, spec in it.source.specs.items():
                    it.source.specs[name] = replace(spec, access=UsableKubeconfig(played, name))
                await it.start()
                yield it

        async with serving_fleet(played_fleet) as served:
            await granted(served)
            ann = await way(served)
            await served.it.submit(seconds=1000)
            await served.it.known_to_run()
            query = [*ECHO, ("stdin", "true")]
            async with open_websocket(ann, PATH, query, protocols=PROTOCOLS, largest=LARGEST_MESSAGE) as socket:
                for said in (b"hello", b"x" * 200_000):
                    await socket.send_bytes(bytes([STDIN]) + said)
                    assert await socket.receive_bytes(timeout=60) == bytes([STDOUT]) + said
                await socket.send_bytes(bytes([CLOSE, STDIN]))
                assert exit_code((await socket.receive_bytes(timeout=60))[1:]) == 0
            bob = await way(served, "bob", "other")
            with pytest.raises(Forbidden, match="workloads/exec"):
                await output(bob)
