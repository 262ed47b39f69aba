from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from jobrelay.kube import ConfigError, ConnectError, Connection, Request, TransportError, connect
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


async def fetch(connection: Connection, request: Request | None = None) -> dict[str, Any]:
    async with NetworkTransport(connection, environ={}) as transport:
        response = await transport.send(request or Request("GET", "/x"))
        decoded: dict[str, Any] = msgspec.json.decode(await response.read())
        return decoded


async def test_requests_arrive_as_they_are() -> None:
    async with serving(echo) as url:
        request = Request("PATCH", "/api/v1/x?labelSelector=a%3Db", {"Content-Type": "application/json"}, b"{}")
        seen = await fetch(Connection(url), request)
    assert (seen["method"], seen["path"], seen["body"]) == ("PATCH", "/api/v1/x?labelSelector=a%3Db", "{}")
    names = [name for name, _ in seen["headers"]]
    assert "Accept-Encoding" not in names


async def test_credentials_and_impersonation_become_headers() -> None:
    async with serving(echo) as url:
        headers = {"Impersonate-Group": ["a", "b"]}
        seen = await fetch(Connection(url, credentials=StaticCredentials(Credential(bearer("t"))), headers=headers))
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


async def test_a_refused_credential_is_renewed_once() -> None:
    async def guarded(request: web.Request) -> web.StreamResponse:
        ok = request.headers["Authorization"] == "Bearer new"
        return web.json_response({}, status=200 if ok else 401)

    async with serving(guarded) as url, NetworkTransport(Connection(url, credentials=Rotating())) as transport:
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


async def test_a_request_that_waits_for_credentials_opens_no_connection_after_the_transport_was_closed() -> None:
    credentials = Slow()
    async with serving(echo) as url:
        transport = NetworkTransport(Connection(url, credentials=credentials))
        sending = asyncio.create_task(transport.send(Request("GET", "/x")))
        await asyncio.sleep(0)
        await transport.close()
        credentials.ready.set()
        with pytest.raises(ConnectError, match="closed"):
            await sending


async def test_streams_arrive_piecewise_and_broken_ones_are_errors() -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Warning": "299 - careful"})
        await response.prepare(request)
        await response.write(b"one")
        assert request.transport
        request.transport.close()
        return response

    async with serving(broken) as url, NetworkTransport(Connection(url)) as transport:
        response = await transport.send(Request("GET", "/watch"))
        chunks = response.chunks()
        assert await anext(chunks) == b"one"
        assert response.headers.get_all("warning") == ["299 - careful"]
        with pytest.raises(TransportError):
            await anext(chunks)


async def test_nobody_there_is_a_connect_error() -> None:
    async with serving(echo) as url:
        pass
    with pytest.raises(ConnectError, match="GET /x"):
        await fetch(Connection(url))


async def test_tls_with_a_client_certificate(tmp_path: Path) -> None:
    authority = Authority()
    client = StaticCredentials(Credential(None, authority.issue("alice")))
    async with serving(echo, server_tls(authority, tmp_path)) as url:
        seen = await fetch(Connection(url, ca=authority.pem, credentials=client))
    assert seen["certificate"] == ["alice"]


async def test_an_unknown_authority_is_refused_with_a_hint(tmp_path: Path) -> None:
    async with serving(echo, server_tls(Authority(), tmp_path)) as url:
        with pytest.raises(ConnectError, match="hint: does certificate-authority"):
            await fetch(Connection(url, ca=Authority().pem))
        assert (await fetch(Connection(url, insecure=True)))["method"] == "GET"


async def test_the_server_may_go_by_another_name(tmp_path: Path) -> None:
    authority = Authority()
    async with serving(echo, server_tls(authority, tmp_path, "api.internal")) as url:
        assert await fetch(Connection(url, ca=authority.pem, tls_server_name="api.internal"))
        with pytest.raises(ConnectError):
            await fetch(Connection(url, ca=authority.pem, tls_server_name="other"))


@pytest.mark.parametrize(
    "connection",
    [
        Connection("https://x", ca=b"nonsense"),
        Connection("https://x", credentials=StaticCredentials(Credential(None, Certificate(b"no", b"no")))),
        Connection("https://x", proxy_url="socks5://x"),
    ],
)
async def test_what_cannot_work_is_said_before_connecting(connection: Connection) -> None:
    with pytest.raises(ConfigError):
        await fetch(connection)


async def test_connect_gives_a_client() -> None:
    async def one(request: web.Request) -> web.StreamResponse:
        return web.json_response(configmap("a"))

    async with serving(one) as url, connect(Connection(url)) as client:
        assert (await client.get(CONFIGMAPS, "a", "default")).name == "a"


async def test_requests_go_through_the_proxy() -> None:
    async with serving(echo) as proxy:
        seen = await fetch(Connection("http://far.example", proxy_url=proxy))
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


async def test_large_bodies_arrive_whole() -> None:
    async with serving(echo) as url:
        seen = await fetch(Connection(url), Request("PUT", "/x", body=b"y" * 600_000))
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


async def test_a_new_certificate_is_used_at_once(tmp_path: Path) -> None:
    authority = Authority()
    async with serving(echo, server_tls(authority, tmp_path)) as url:
        connection = Connection(url, ca=authority.pem, credentials=Renewing(authority))
        async with NetworkTransport(connection, environ={}) as transport:
            for name in ("first", "second"):
                response = await transport.send(Request("GET", "/x"))
                assert msgspec.json.decode(await response.read())["certificate"] == [name]
