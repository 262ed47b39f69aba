"""Calls of the API server: where they go, whom they trust, and how they fail."""

from __future__ import annotations

import asyncio
import base64
import pathlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.outbound import CallTarget, Outbound, OutboundError, ServiceEndpoint, resolve
from jobrelay.cluster.store import Store
from jobrelay.kube.credentials import Certificate
from tests.kube.certificates import Authority
from tests.loopback import LoopbackServer, ca_bundle

Obj = dict[str, Any]
SERVICE = {"service": {"namespace": "default", "name": "hook", "path": "/check"}}


async def echo(request: web.Request) -> web.Response:
    shown = f"{request.method} {request.path_qs} {request.headers['Host']} {await request.text()}"
    return web.Response(text=shown, status=201)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
async def outbound(store: Store) -> AsyncIterator[Outbound]:
    made = Outbound(store)
    yield made
    await made.close()


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    async with LoopbackServer(echo) as made:
        yield made


def put(store: Store, key: str, name: str, obj: Obj) -> None:
    store.put(key, "default", name, represent.encode({"metadata": {"name": name}, **obj}))


def service(port: int = 443, **spec: Any) -> Obj:
    return {"spec": {"type": "ClusterIP", "ports": [{"name": "web", "port": port, "targetPort": "https"}], **spec}}


def slice_of(address: str, port: int, **endpoint: Any) -> Obj:
    return {
        "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
        "ports": [{"name": "web", "port": port}],
        "endpoints": [{"addresses": [address], **endpoint}],
    }


def serving(certificate: Certificate, folder: pathlib.Path) -> ssl.SSLContext:
    path = folder / "pair.pem"
    path.write_bytes(certificate.chain + certificate.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


async def failure(outbound: Outbound, config: Obj, seconds: float = 5) -> str:
    with pytest.raises(OutboundError) as caught:
        await outbound.send(CallTarget.from_client_config(config), b"{}", seconds=seconds)
    return str(caught.value)


async def test_a_url_is_called(outbound: Outbound, server: LoopbackServer) -> None:
    target = CallTarget.from_client_config(server.client_config("/a//b/"))
    answer = await outbound.send(target, b"{}", seconds=5, query="timeout=5s")
    assert (answer.status, answer.body) == (201, f"POST /a/b?timeout=5s 127.0.0.1:{server.port} {{}}".encode())


async def test_a_service_is_called_by_its_name(outbound: Outbound, store: Store, server: LoopbackServer) -> None:
    put(store, "services", "hook", service())
    put(store, "endpointslices.discovery.k8s.io", "hook-1", slice_of("127.0.0.1", server.port))
    answer = await outbound.send(CallTarget.from_client_config({**SERVICE, "caBundle": ca_bundle()}), b"", seconds=5)
    assert answer.body == b"POST /check hook.default.svc:443 "


async def test_connections_are_kept(outbound: Outbound, server: LoopbackServer) -> None:
    ports = []

    async def respond(request: web.Request) -> web.Response:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        return web.Response()

    server._respond = respond
    for _ in range(3):
        await outbound.send(CallTarget.from_client_config(server.client_config()), b"{}", seconds=5)
    assert len(set(ports)) == 1


async def test_a_refused_connection(outbound: Outbound) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        text = await failure(outbound, {"url": f"https://127.0.0.1:{port}/x"})
    assert text == f'Post "https://127.0.0.1:{port}/x": dial tcp 127.0.0.1:{port}: connect: connection refused'


async def test_a_late_answer(outbound: Outbound, server: LoopbackServer) -> None:
    async def never(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    server._respond = never
    assert (await failure(outbound, server.client_config(), 0.01)).endswith(": context deadline exceeded")


async def test_an_answer_without_end_is_not_read(
    outbound: Outbound, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobrelay.cluster.apiserver.outbound.client.LARGEST", 10)
    assert "the answer has more than 10 bytes" in await failure(outbound, server.client_config())


async def test_an_unknown_authority(outbound: Outbound, server: LoopbackServer) -> None:
    text = await failure(outbound, {"url": f"https://127.0.0.1:{server.port}"})
    assert text.endswith('/": tls: failed to verify certificate: x509: certificate signed by unknown authority')


async def test_a_certificate_may_have_the_name_of_its_authority(outbound: Outbound, tmp_path: pathlib.Path) -> None:
    authority = Authority()
    async with LoopbackServer(echo, serving(authority.issue(authority.common_name), tmp_path)) as server:
        config = server.client_config(caBundle=base64.b64encode(authority.pem).decode())
        for _ in range(2):
            assert (await outbound.send(CallTarget.from_client_config(config), b"", seconds=5)).status == 201


async def test_another_authority_of_the_same_name_is_unknown(outbound: Outbound, tmp_path: pathlib.Path) -> None:
    authority = Authority()
    async with LoopbackServer(echo, serving(authority.issue(authority.common_name), tmp_path)) as server:
        text = await failure(outbound, server.client_config(caBundle=base64.b64encode(Authority().pem).decode()))
    assert text.endswith("x509: certificate signed by unknown authority")


async def test_a_name_that_the_certificate_does_not_have(
    outbound: Outbound, store: Store, server: LoopbackServer
) -> None:
    put(store, "services", "other", service(server.port, type="ExternalName", externalName="localhost"))
    reference = {"namespace": "default", "name": "other", "port": server.port}
    text = await failure(outbound, {"service": reference, "caBundle": ca_bundle()})
    assert text.endswith(
        "tls: failed to verify certificate: x509: certificate is valid for localhost, hook.default.svc, "
        "not other.default.svc"
    )


@pytest.mark.parametrize("url", ["https://example.com/x", "https://10.0.0.7:8443/x"])
async def test_nothing_but_loopback_is_called(outbound: Outbound, url: str) -> None:
    assert "is not on loopback, and an embedded cluster calls nothing else" in await failure(outbound, {"url": url})


def fill_nothing(store: Store) -> None:
    pass


def fill_service(store: Store) -> None:
    put(store, "services", "hook", service())


def fill_other_port(store: Store) -> None:
    put(store, "services", "hook", service(8443))


def fill_unready(store: Store) -> None:
    fill_service(store)
    put(store, "endpointslices.discovery.k8s.io", "hook-1", slice_of("127.0.0.1", 9, conditions={"ready": False}))


@pytest.mark.parametrize(
    ("fill", "why"),
    [
        (fill_nothing, 'service "hook" not found'),
        (fill_service, 'no endpoints available for service "hook"'),
        (fill_other_port, 'no service port 443 found for service "hook"'),
        (fill_unready, 'no endpoints available for service "hook"'),
    ],
)
async def test_a_service_that_leads_nowhere(
    outbound: Outbound, store: Store, fill: Callable[[Store], None], why: str
) -> None:
    fill(store)
    assert await failure(outbound, SERVICE) == f'Post "https://hook.default.svc:443/check": {why}'


async def test_endpoints_stand_in_for_slices(store: Store) -> None:
    fill_service(store)
    subset = {"addresses": [{"ip": "127.0.0.2"}], "ports": [{"name": "web", "port": 77}]}
    put(store, "endpoints", "hook", {"subsets": [subset]})
    found = resolve(store, CallTarget.from_client_config(SERVICE))
    assert found == ServiceEndpoint("127.0.0.2", 77, "hook.default.svc")


async def test_ready_pods_stand_in_for_endpoints(store: Store) -> None:
    put(store, "services", "hook", service(selector={"app": "hook"}))
    ready = {"podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}
    ports = [{"name": "https", "containerPort": 9443}]
    metadata = {"name": "pod", "labels": {"app": "hook"}}
    put(store, "pods", "pod", {"metadata": metadata, "spec": {"containers": [{"ports": ports}]}, "status": ready})
    assert resolve(store, CallTarget.from_client_config(SERVICE)).port == 9443


async def test_an_external_name_keeps_the_port_of_the_reference(store: Store) -> None:
    put(store, "services", "hook", {"spec": {"type": "ExternalName", "externalName": "localhost"}})
    config = {"service": {"namespace": "default", "name": "hook", "port": 8443}}
    assert resolve(store, CallTarget.from_client_config(config)) == ServiceEndpoint(
        "127.0.0.1", 8443, "hook.default.svc"
    )
