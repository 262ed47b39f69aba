"""How many commands run at once, which pod one runs in, and how one ends that does not end by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest
from aiohttp import WSMsgType, web

from jobrelay.kube import Connection, FakeClock, InternalError, Object
from jobrelay.kube.objects import decode_object
from jobrelay.kube.remote_command import LARGEST_MESSAGE, PROTOCOLS, STATUS, exit_code
from jobrelay.kube.websocket import open_websocket
from jobrelay.relay.api.callers import Caller
from jobrelay.relay.api.failures import ApiFailure
from jobrelay.relay.api.sessions import MOST_OF_ONE_CALLER, MOST_SESSIONS, ExecRequest, Sessions
from jobrelay.relay.mirror_pods.choosing import Chosen, PodProblem, choose_pod
from tests.loopback import LoopbackServer, authority


def pod(name: str, phase: str = "Running", index: str = "", *containers: str, **metadata: Any) -> Object:
    annotations = {"batch.kubernetes.io/job-completion-index": index} if index else {}
    metadata = {"name": name, "uid": name, "annotations": annotations | metadata.pop("annotations", {}), **metadata}
    spec = {"containers": [{"name": each} for each in containers or ("main",)]}
    return decode_object(msgspec.json.encode({"metadata": metadata, "spec": spec, "status": {"phase": phase}}))


def chosen(pods: list[Object], **asked: str) -> tuple[str, str]:
    found = choose_pod(pods, "Job a/b", **asked)
    return (found.pod.name, found.container) if isinstance(found, Chosen) else (found.problem.name, found.message)


def test_the_only_pod_that_runs_is_chosen() -> None:
    deleted = pod("gone", deletionTimestamp="2026-01-01T00:00:00Z")
    assert chosen([pod("done", "Succeeded"), pod("p"), pod("waits", "Pending"), deleted]) == ("p", "main")


def test_the_container_is_the_first_or_the_one_that_the_pod_prefers() -> None:
    preferring = pod("p", "Running", "", "a", "b", annotations={"kubectl.kubernetes.io/default-container": "b"})
    assert chosen([pod("p", "Running", "", "a", "b")]) == ("p", "a")
    assert chosen([preferring]) == ("p", "b")
    assert chosen([preferring], container="a") == ("p", "a")


def test_where_none_can_be_chosen_the_pods_are_named() -> None:
    both = [pod("p", "Running", "0"), pod("q", "Running", "1")]
    several = "Job a/b has several pods that run: p (index 0, Running), q (index 1, Running)"
    assert chosen(both) == ("SEVERAL_RUN", several)
    assert chosen(both, index="1") == ("q", "main")
    assert chosen(both, index="2")[1].startswith("Job a/b has no pod of index 2; its pods: p (")
    assert chosen([pod("p", "Failed")]) == ("NONE_RUNS", "no pod of Job a/b runs: p (Failed)")
    assert chosen([])[0] == PodProblem.NONE_RUNS.name
    assert chosen([pod(f"p{each}") for each in range(30)])[1].endswith("p19 (Running), and 10 more")


def test_one_caller_cannot_have_all_sessions() -> None:
    sessions = Sessions(FakeClock())
    with ExitStack() as running:
        for _ in range(MOST_OF_ONE_CALLER):
            running.enter_context(sessions.admitted(Caller("ann")))
        with pytest.raises(ApiFailure, match="20 commands of 'ann' run at present"), sessions.admitted(Caller("ann")):
            pass
        for number in range(MOST_SESSIONS - MOST_OF_ONE_CALLER):
            running.enter_context(sessions.admitted(Caller(f"user-{number}")))
        with pytest.raises(ApiFailure, match="100 of all"), sessions.admitted(Caller("bob")):
            pass
    with sessions.admitted(Caller("ann")):
        pass


async def left(clock: FakeClock, act: Callable[[FakeClock, web.WebSocketResponse], Awaitable[None]]) -> bytes:
    """The last message to a client whose worker does something after each has said a word."""

    async def worker(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=PROTOCOLS)
        await socket.prepare(request)
        await socket.send_bytes(b"\x01hello")
        assert await socket.receive_bytes() == b"\x00go on"
        await act(clock, socket)
        return socket

    async with LoopbackServer(worker) as there:
        way = Connection(f"https://127.0.0.1:{there.port}", ca=authority().pair.certificate)
        asked = ExecRequest(("id",), protocols=PROTOCOLS)

        async def relay(request: web.Request) -> web.StreamResponse:
            return await Sessions(clock).serve(request, asked, "west", way, Chosen(pod("p", namespace="a"), "main"))

        async with LoopbackServer(relay) as here:
            home = Connection(f"https://127.0.0.1:{here.port}", ca=authority().pair.certificate)
            async with open_websocket(home, "/", [], protocols=PROTOCOLS, largest=LARGEST_MESSAGE) as socket:
                assert await socket.receive_bytes(timeout=60) == b"\x01hello"
                await socket.send_bytes(b"\x00go on")
                return await socket.receive_bytes(timeout=60)


async def test_a_worker_that_breaks_off_is_told_as_the_result() -> None:
    async def end(clock: FakeClock, socket: web.WebSocketResponse) -> None:
        await socket.close()

    last = await left(FakeClock(), end)
    with pytest.raises(InternalError, match="the command was left: the connection to its worker west broke"):
        exit_code(last[1:])


async def test_a_command_that_is_silent_for_long_is_ended() -> None:
    async def be_silent(clock: FakeClock, socket: web.WebSocketResponse) -> None:
        advancing = asyncio.create_task(pass_hours(clock))
        try:
            assert (await socket.receive()).type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED)
        finally:
            advancing.cancel()

    async def pass_hours(clock: FakeClock) -> None:
        while True:
            await clock.advance(3600)
            await asyncio.sleep(0.01)

    last = await left(FakeClock(), be_silent)
    assert last[0] == STATUS
    assert "nothing was said for 14400 s" in last.decode()
