"""The result of a command in a container, and websockets to servers that refuse them."""

from __future__ import annotations

import msgspec
import pytest
from aiohttp import web

from jobrelay.kube import ConnectError, Connection, Forbidden, ProtocolError, StatusError, TransportError, Unauthorized
from jobrelay.kube.credentials import Credential
from jobrelay.kube.remote_command import PROTOCOLS, command_query, exit_code, resize_message
from jobrelay.kube.websocket import open_websocket
from tests.loopback import LoopbackServer, Respond, authority


def failed(reason: str, cause: str = "ExitCode", code: str = "3") -> bytes:
    causes = {"causes": [{"reason": cause, "message": code}]}
    return msgspec.json.encode({"status": "Failure", "reason": reason, "message": "it failed", "details": causes})


def test_the_exit_code_is_in_the_last_message() -> None:
    assert exit_code(b'{"metadata":{},"status":"Success"}') == 0
    assert exit_code(failed("NonZeroExitCode")) == 3


@pytest.mark.parametrize("raw", [failed("InternalError"), failed("NonZeroExitCode", "Else"), failed("", code="-1")])
def test_a_command_that_did_not_run_to_its_end_has_none(raw: bytes) -> None:
    with pytest.raises(StatusError, match="it failed"):
        exit_code(raw)


def test_a_result_that_is_none_is_told() -> None:
    with pytest.raises(ProtocolError, match="the result of the command cannot be read"):
        exit_code(b"\xff")


def test_a_terminal_has_no_stderr_of_its_own() -> None:
    assert command_query(["a", "b c"], "", stdin=True, tty=True) == [
        ("command", "a"), ("command", "b c"), ("stdin", "true"), ("stdout", "true"), ("tty", "true"),
    ]  # fmt: skip
    assert ("stderr", "true") in command_query(["a"], "main", stdin=False, tty=False)
    assert resize_message(80, 24) == b'\x04{"Width":80,"Height":24}'


class Tokens:
    """Credentials that are exchanged when the server refuses them."""

    def __init__(self) -> None:
        self.given = "old"

    async def current(self) -> Credential:
        return Credential(self.given)

    def refused(self, credential: Credential) -> bool:
        before, self.given = self.given, "new"
        return before == "old"


async def opened(respond: Respond, tokens: Tokens | None = None) -> str:
    """The subprotocol by which a server is spoken to."""
    async with LoopbackServer(respond) as server:
        ca = authority().pair.certificate
        way = Connection(f"https://127.0.0.1:{server.port}", ca=ca, credentials=tokens or Tokens())
        async with open_websocket(way, "/exec", [("command", "id")], protocols=PROTOCOLS, largest=1000) as socket:
            return socket.protocol or ""


async def accept(request: web.Request) -> web.StreamResponse:
    if request.headers["Authorization"] != "new":
        return web.json_response({"kind": "Status", "reason": "Unauthorized", "code": 401}, status=401)
    socket = web.WebSocketResponse(protocols=PROTOCOLS)
    await socket.prepare(request)
    await socket.receive()
    return socket


async def test_a_newer_credential_is_tried_once() -> None:
    assert await opened(accept) == PROTOCOLS[0]
    tokens = Tokens()
    tokens.given = "other"
    with pytest.raises(Unauthorized):
        await opened(accept, tokens)


async def test_the_status_of_a_refusal_is_raised() -> None:
    async def refuse(request: web.Request) -> web.Response:
        refusal = {"kind": "Status", "reason": "Forbidden", "message": "not you", "code": 403}
        return web.json_response(refusal, status=403)

    with pytest.raises(Forbidden, match="not you"):
        await opened(refuse)


async def test_a_server_that_redirects_gets_no_further() -> None:
    async def redirect(request: web.Request) -> web.Response:
        raise web.HTTPFound("/elsewhere")

    with pytest.raises(TransportError, match="the server redirects"):
        await opened(redirect)


async def test_a_server_without_the_protocol_is_told() -> None:
    async def other(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.receive()
        return socket

    with pytest.raises(ProtocolError, match=r"speaks none of v5\.channel\.k8s\.io"):
        await opened(other)


async def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(ConnectError):
        async with open_websocket(Connection("http://127.0.0.1:1"), "/", [], protocols=PROTOCOLS, largest=1):
            pass
