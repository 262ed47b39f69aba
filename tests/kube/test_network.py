from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from jobrelay.kube import ConfigError, ConnectError, Connection, ProtocolError, Request, TransportError, connect
from jobrelay.kube.brief import BriefTransport
from jobrelay.kube.credentials import Certificate, Credential, StaticCredentials, bearer
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.proxies import proxy_for
from jobrelay.kube.resource import CONFIGMAPS

from .certificates import Authority
from .scripted import configmap
from .serving import serving


def server_tls(authority: Authority, tmp_path: Path, name: str = "api") -> ssl.SSLContext:
    """Serve as `name`, and ask clients for certificates."""
    issued = authority.issue(name)
    (tmp_path / "server.pem").write_bytes(issued.chain + issued.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_verify_locations(cadata=authority.pem.decode())
    context.load_cert_chain(tmp_path / "server.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


async def echo(request: web.Request) -> web.StreamResponse:
    tls = request.transport.get_extra_info("peercert") if request.transport else None
    names = [value for part in (tls or {}).get("subject", ()) for (_, value) in part]
    shown = {"method": request.method, "path": request.raw_path, "body": await request.text(), "certificate": names}
    return web.json_response(shown | {"headers": [[name, value] for name, value in request.headers.items()]})


Opens = Callable[[Connection], NetworkTransport | BriefTransport]


@pytest.fixture(params=["aiohttp", "brief"])
def opens(request: pytest.FixtureRequest) -> Opens:
    """Both transports over the network."""
    return BriefTransport if request.param == "brief" else lambda connection: NetworkTransport(connection, environ={})


async def fetch(opens: Opens, connection: Connection, request: Request | None = None) -> dict[str, Any]:
    async with opens(connection) as transport:
        response = await transport.send(request or Request("GET", "/x"))
        decoded: dict[str, Any] = msgspec.json.decode(await response.read())
        return decoded


async def test_requests_arrive_as_they_are(opens: Opens) -> None:
    async with serving(echo) as url:
        request = Request("PATCH", "/api/v1/x?labelSelector=a%3Db", {"Content-Type": "application/json"}, b"{}")
        seen = await fetch(opens, Connection(url), request)
    assert (seen["method"], seen["path"], seen["body"]) == ("PATCH", "/api/v1/x?labelSelector=a%3Db", "{}")
    names = [name for name, _ in seen["headers"]]
    assert "Accept-Encoding" not in names


async def test_credentials_and_impersonation_become_headers(opens: Opens) -> None:
    async with serving(echo) as url:
        headers = {"Impersonate-Group": ["a", "b"]}
        seen = await fetch(
            opens, Connection(url, credentials=StaticCredentials(Credential(bearer("t"))), headers=headers)
        )
    assert ["Authorization", "Bearer t"] in seen["headers"]
    assert ["Impersonate-Group", "b"] in seen["headers"]


class Rotating:
    """Offers another token after a refusal."""

    def __init__(self) -> None:
        self.tokens = ["old", "new"]

    async def current(self) -> Credential:
        return Credential(bearer(self.tokens[0]))

    def refused(self, credential: Credential) -> bool:
        self.tokens.pop(0)
        return True


async def test_a_refused_credential_is_renewed_once(opens: Opens) -> None:
    async def guarded(request: web.Request) -> web.StreamResponse:
        ok = request.headers["Authorization"] == "Bearer new"
        return web.json_response({}, status=200 if ok else 401)

    async with serving(guarded) as url, opens(Connection(url, credentials=Rotating())) as transport:
        assert (await transport.send(Request("GET", "/x"))).status == 200


class Slow:
    """Offers its credential after `ready` is set."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()

    async def current(self) -> Credential:
        await self.ready.wait()
        return Credential(bearer("t"))

    def refused(self, credential: Credential) -> bool:
        return False


async def test_a_request_that_waits_for_credentials_opens_no_connection_after_the_transport_was_closed(
    opens: Opens,
) -> None:
    credentials = Slow()
    async with serving(echo) as url:
        transport = opens(Connection(url, credentials=credentials))
        sending = asyncio.create_task(transport.send(Request("GET", "/x")))
        await asyncio.sleep(0)
        await transport.close()
        credentials.ready.set()
        with pytest.raises(ConnectError, match="closed"):
            await sending


async def test_streams_arrive_piecewise_and_broken_ones_are_errors(opens: Opens) -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Warning": "299 - careful"})
        await response.prepare(request)
        await response.write(b"one")
        assert request.transport
        request.transport.close()
        return response

    async with serving(broken) as url, opens(Connection(url)) as transport:
        response = await transport.send(Request("GET", "/watch"))
        chunks = response.chunks()
        assert await anext(chunks) == b"one"
        assert response.headers.get_all("warning") == ["299 - careful"]
        with pytest.raises(TransportError):
            await anext(chunks)


async def test_nobody_there_is_a_connect_error(opens: Opens) -> None:
    async with serving(echo) as url:
        pass
    with pytest.raises(ConnectError, match="GET /x"):
        await fetch(opens, Connection(url))


async def test_tls_with_a_client_certificate(opens: Opens, tmp_path: Path) -> None:
    authority = Authority()
    client = StaticCredentials(Credential(None, authority.issue("alice")))
    async with serving(echo, server_tls(authority, tmp_path)) as url:
        seen = await fetch(opens, Connection(url, ca=authority.pem, credentials=client))
    assert seen["certificate"] == ["alice"]


async def test_an_unknown_authority_is_refused_with_a_hint(opens: Opens, tmp_path: Path) -> None:
    async with serving(echo, server_tls(Authority(), tmp_path)) as url:
        with pytest.raises(ConnectError, match="hint: does certificate-authority"):
            await fetch(opens, Connection(url, ca=Authority().pem))
        assert (await fetch(opens, Connection(url, insecure=True)))["method"] == "GET"


async def test_the_server_may_go_by_another_name(opens: Opens, tmp_path: Path) -> None:
    authority = Authority()
    async with serving(echo, server_tls(authority, tmp_path, "api.internal")) as url:
        assert await fetch(opens, Connection(url, ca=authority.pem, tls_server_name="api.internal"))
        with pytest.raises(ConnectError):
            await fetch(opens, Connection(url, ca=authority.pem, tls_server_name="other"))


@pytest.mark.parametrize(
    "connection",
    [
        Connection("https://x", ca=b"nonsense"),
        Connection("https://x", credentials=StaticCredentials(Credential(None, Certificate(b"no", b"no")))),
    ],
)
async def test_what_cannot_work_is_said_before_connecting(opens: Opens, connection: Connection) -> None:
    with pytest.raises(ConfigError):
        await fetch(opens, connection)


async def test_connect_gives_a_client() -> None:
    async def one(request: web.Request) -> web.StreamResponse:
        return web.json_response(configmap("a"))

    async with serving(one) as url, connect(Connection(url)) as client:
        assert (await client.get(CONFIGMAPS, "a", "default")).name == "a"


async def test_requests_go_through_the_proxy() -> None:
    async with serving(echo) as proxy:
        seen = await fetch(
            lambda it: NetworkTransport(it, environ={}), Connection("http://far.example", proxy_url=proxy)
        )
    assert ["Host", "far.example"] in seen["headers"]


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxied"),
    [
        ("https://api.example:6443", "", True),
        ("https://api.example:6443", "other,.example", False),
        ("https://api.example:6443", "example", False),
        ("https://myexample:6443", "example", True),
        ("https://10.1.2.3", "10.0.0.0/8", False),
        ("https://10.1.2.3", "192.168.0.0/16,10.1.2.3", False),
        ("https://10.1.2.3", "example", True),
        ("https://api.example", "*", False),
        ("https://127.0.0.1", "", False),
        ("https://localhost", "", False),
        ("http://api.example", "", False),
    ],
)
def test_the_environment_decides_about_proxies(server: str, no_proxy: str, proxied: bool) -> None:
    environ = {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": no_proxy}
    assert proxy_for(server, environ) == ("http://proxy:3128" if proxied else None)


async def test_large_bodies_arrive_whole(opens: Opens) -> None:
    async with serving(echo) as url:
        seen = await fetch(opens, Connection(url), Request("PUT", "/x", body=b"y" * 600_000))
    assert len(seen["body"]) == 600_000


class Renewing:
    """Hands out a new certificate each time."""

    def __init__(self, authority: Authority) -> None:
        self._names = iter(["first", "second"])
        self._authority = authority

    async def current(self) -> Credential:
        return Credential(None, self._authority.issue(next(self._names)))

    def refused(self, credential: Credential) -> bool:
        return False


async def test_a_new_certificate_is_used_at_once(opens: Opens, tmp_path: Path) -> None:
    authority = Authority()
    async with serving(echo, server_tls(authority, tmp_path)) as url:
        connection = Connection(url, ca=authority.pem, credentials=Renewing(authority))
        async with opens(connection) as transport:
            for name in ("first", "second"):
                response = await transport.send(Request("GET", "/x"))
                assert msgspec.json.decode(await response.read())["certificate"] == [name]


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="socks5"):
        NetworkTransport(Connection("https://x", proxy_url="socks5://x"))


async def test_a_connection_is_used_again_and_replaced_when_the_server_has_closed_it() -> None:
    peers: list[Any] = []

    async def count(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peers.append(request.transport.get_extra_info("peername"))
        if len(peers) == 2:
            request.protocol.force_close()
        return web.json_response({})

    async with serving(count) as url, BriefTransport(Connection(url)) as transport:
        for _ in range(4):
            assert (await transport.send(Request("GET", "/x"))).status == 200
    assert len(set(peers)) == 2
    assert peers[0] == peers[1] != peers[2] == peers[3]


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 2",
        b"",
    ],
)
async def test_what_is_no_response_is_an_error(answer: bytes) -> None:
    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(answered, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, BriefTransport(Connection(f"http://127.0.0.1:{port}")) as transport:
        with pytest.raises((TransportError, ProtocolError)):
            await (await transport.send(Request("GET", "/x"))).read()


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nall of it")
        writer.close()

    server = await asyncio.start_server(answered, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, BriefTransport(Connection(f"http://127.0.0.1:{port}")) as transport:
        assert await (await transport.send(Request("GET", "/x"))).read() == b"all of it"


async def test_a_line_break_in_a_header_is_refused() -> None:
    async with serving(echo) as url, BriefTransport(Connection(url)) as transport:
        with pytest.raises(ProtocolError, match="line break"):
            await transport.send(Request("GET", "/x", {"User-Agent": "a\r\nX: y"}))
