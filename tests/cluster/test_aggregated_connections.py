"""Aggregated APIs over the network: the front proxy's certificate, and connections that change their protocol."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from jobrelay.cluster.cluster import Cluster
from jobrelay.kube import find_connection
from jobrelay.kube.tls import client_ssl_context
from jobrelay.kube.transport import Request
from tests.loopback import LoopbackServer, authority, ca_bundle

PATH = "/apis/far.example/v1"
AUTHENTICATION = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


async def answer(request: web.Request) -> web.StreamResponse:
    """Tells the name in the caller's certificate, or repeats what it gets by websocket."""
    if request.headers.get("Upgrade"):
        return await _socket(request)
    assert request.transport is not None
    certificate: Any = request.transport.get_extra_info("peercert") or {}
    return web.json_response({"resources": [], "subject": certificate.get("subject", [])})


async def _socket(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
    await socket.prepare(request)
    await socket.send_str(request.headers["X-Remote-User"])
    async for message in socket:
        await socket.send_str(message.data.upper())
    return socket


async def call(cluster: Cluster, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    sent = json.dumps(body).encode() if body is not None else None
    response = await cluster.transport().send(Request(method, path, {"Content-Type": "application/json"}, sent))
    async with response:
        return json.loads(await response.read())


@pytest.fixture
async def cluster(tmp_path: Any) -> AsyncIterator[Cluster]:
    """A cluster with an API whose server takes only callers with the published front proxy's certificate."""
    async with Cluster(memory=True, controllers="none") as made:
        trusted = (await call(made, "GET", AUTHENTICATION))["data"]["requestheader-client-ca-file"]
        pair, path = authority().server(("hook.default.svc",)), tmp_path / "pair.pem"
        path.write_bytes(pair.certificate + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        context.load_verify_locations(cadata=trusted)
        context.verify_mode = ssl.CERT_REQUIRED
        async with LoopbackServer(answer, context) as other:
            await register(made, other.port)
            yield made


async def register(cluster: Cluster, port: int) -> None:
    service = {"type": "ExternalName", "externalName": "localhost"}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"}, "spec": service}
    await call(cluster, "POST", "/api/v1/namespaces/default/services", body)
    spec = {
        "group": "far.example", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
        "caBundle": ca_bundle(), "service": {"namespace": "default", "name": "hook", "port": port},
    }  # fmt: skip
    made = {"metadata": {"name": "v1.far.example"}, "spec": spec}
    kind = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    await call(cluster, "POST", "/apis/apiregistration.k8s.io/v1/apiservices", {**kind, **made})
    async with asyncio.timeout(5):
        while (api := cluster.api.remote.named("v1.far.example")) is None or not api.available:
            await asyncio.sleep(0.002)


async def tls(cluster: Cluster) -> ssl.SSLContext:
    connection = find_connection(cluster.kubeconfig)
    return client_ssl_context(connection.ca, (await connection.credentials.current()).certificate)


async def test_the_front_proxy_shows_its_certificate(cluster: Cluster) -> None:
    found = await call(cluster, "GET", f"{PATH}/things")
    assert found["subject"] == [[["commonName", "front-proxy-client"]]]


async def test_a_websocket_goes_through(cluster: Cluster) -> None:
    url = f"{cluster.url}{PATH}/namespaces/default/things/x/exec"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, ssl=await tls(cluster), protocols=("v5.channel.k8s.io",)) as socket,
    ):
        assert socket.protocol == "v5.channel.k8s.io"
        assert await socket.receive_str() == "kubernetes-admin"
        for word in ("one", "two" * 10_000):
            await socket.send_str(word)
            assert await socket.receive_str() == word.upper()
