"""Aggregated APIs: requests that go to the server behind an APIService, and what is said of that server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from tests.loopback import LoopbackServer, ca_bundle

from .serving import ADMIN, Obj, Server, UserInfo, binding, role

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
GROUP = "/apis/far.example/v1"
RESOURCES = {
    "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "far.example/v1",
    "resources": [
        {
            "name": "things", "singularName": "thing", "namespaced": True, "kind": "Thing", "verbs": ["get"],
            "shortNames": ["th"],
        },
        {"name": "things/log", "singularName": "", "namespaced": True, "kind": "Thing", "verbs": ["get"]},
    ],
}  # fmt: skip


class Program:
    """Another API server: it tells what it was asked."""

    def __init__(self) -> None:
        self.healthy = True
        self.more = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == GROUP:
            return web.json_response(RESOURCES, status=200 if self.healthy else 500)
        if request.path == "/openapi/v3":
            return web.json_response({"paths": {GROUP[1:]: {"serverRelativeURL": f"/openapi/v3{GROUP}?hash=A"}}})
        if request.query.get("watch"):
            return await self._stream(request)
        seen = [[name, value] for name, value in request.headers.items() if name.lower().startswith("x-remote")]
        body = {"kind": "Thing", "target": request.path_qs, "seen": seen, "body": await request.text()}
        return web.json_response(body, status=int(request.query.get("code", 200)))

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        answer.enable_chunked_encoding()
        await answer.prepare(request)
        await answer.write(b'{"type":"ADDED"}\n')
        await self.more.wait()
        await answer.write(b'{"type":"DELETED"}\n')
        return answer


@pytest.fixture
def program() -> Program:
    return Program()


@pytest.fixture
async def aggregated(server: Server, program: Program) -> AsyncIterator[Server]:
    """A server with an APIService whose program is up."""
    async with LoopbackServer(program.answer) as other:
        await register(server, other.port)
        await until(server, lambda: server.api.remote.named("v1.far.example") is not None)
        await available(server, "True")
        yield server
        await server.api.close()


async def register(server: Server, port: int, **spec: object) -> None:
    service = {"type": "ExternalName", "externalName": "localhost"}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"}, "spec": service}
    await server.ok("POST", "/api/v1/namespaces/default/services", body)
    await server.ok("POST", SERVICES, api_service(port, **spec))


def api_service(port: int, **spec: object) -> Obj:
    return {
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.far.example"},
        "spec": {
            "group": "far.example", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "caBundle": ca_bundle(), "service": {"namespace": "default", "name": "hook", "port": port}, **spec,
        },
    }  # fmt: skip


async def condition(server: Server) -> Obj:
    found = await server.ok("GET", f"{SERVICES}/v1.far.example")
    made: Obj = (found["status"].get("conditions") or [{}])[0]
    return made


async def available(server: Server, status: str) -> Obj:
    async with asyncio.timeout(5):
        while (found := await condition(server)).get("status") != status:
            await asyncio.sleep(0.002)
    return found


async def until(server: Server, done: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not done():
            await server.settle()


async def test_requests_go_to_the_program_with_their_identity(aggregated: Server) -> None:
    user = UserInfo("ann", ("crew", "system:masters"), extra={"a/b": ("c",)})
    found = await aggregated.ok("GET", f"{GROUP}/namespaces/default/things/x?b=2&a=1", user=user)
    assert found["target"] == f"{GROUP}/namespaces/default/things/x?a=1&b=2"
    assert found["seen"] == [
        ["X-Remote-User", "ann"], ["X-Remote-Group", "crew"], ["X-Remote-Group", "system:masters"],
        ["X-Remote-Group", "system:authenticated"], ["X-Remote-Extra-a%2Fb", "c"],
    ]  # fmt: skip


async def test_an_identity_in_the_caller_s_headers_is_dropped(aggregated: Server) -> None:
    headers = {"X-Remote-User": "root", "X-Remote-Group": "system:masters", "X-Remote-Extra-x": "y"}
    found = await aggregated.ok("GET", f"{GROUP}/things", headers=headers)
    assert ["X-Remote-User", "root"] not in found["seen"]
    assert not any(name.startswith("X-Remote-Extra") for name, _ in found["seen"])


async def test_bodies_and_codes_are_passed_on(aggregated: Server) -> None:
    answer = await aggregated.call("POST", f"{GROUP}/things?code=418", {"a": 1}, media="application/json")
    assert (answer.code, json.loads(answer.body["body"])) == (418, {"a": 1})


async def test_permissions_are_checked_first(aggregated: Server) -> None:
    bob = UserInfo("bob")
    answer = await aggregated.call("GET", f"{GROUP}/namespaces/default/things", user=bob)
    assert answer.code == 403
    allowed = role({"apiGroups": ["far.example"], "resources": ["things"], "verbs": ["list"]})
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    await aggregated.ok("POST", f"{path}/roles", allowed)
    await aggregated.ok("POST", f"{path}/rolebindings", binding("bob"))
    await aggregated.ok("GET", f"{GROUP}/namespaces/default/things", user=bob)


async def test_streams_are_passed_on_as_they_come(aggregated: Server, program: Program) -> None:
    watcher = await aggregated.watch(f"{GROUP}/things")
    async with asyncio.timeout(5):
        while not watcher.pieces:
            await asyncio.sleep(0)
        program.more.set()
        while not watcher.ended:
            await asyncio.sleep(0)
    assert [event["type"] for event in watcher.events] == ["ADDED", "DELETED"]


async def test_discovery_has_the_group(aggregated: Server) -> None:
    groups = (await aggregated.ok("GET", "/apis"))["groups"]
    version = {"groupVersion": "far.example/v1", "version": "v1"}
    assert groups[-1] == {"name": "far.example", "versions": [version], "preferredVersion": version}
    assert (await aggregated.ok("GET", "/apis/far.example"))["name"] == "far.example"
    assert await aggregated.ok("GET", GROUP) == RESOURCES


async def test_aggregated_discovery_has_the_resources(aggregated: Server) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    items = (await aggregated.ok("GET", "/apis", headers={"Accept": accept}))["items"]
    (version,) = items[-1]["versions"]
    assert version["freshness"] == "Current"
    (entry,) = version["resources"]
    assert (entry["resource"], [sub["subresource"] for sub in entry["subresources"]]) == ("things", ["log"])


async def test_openapi_has_the_document(aggregated: Server) -> None:
    index = (await aggregated.call("GET", "/openapi/v3")).body
    assert index["paths"][GROUP[1:]] == {"serverRelativeURL": f"/openapi/v3{GROUP}?hash=A"}
    assert (await aggregated.ok("GET", f"/openapi/v3{GROUP}?hash=A"))["target"] == f"/openapi/v3{GROUP}?hash=A"


async def test_a_program_that_answers_is_available(aggregated: Server) -> None:
    found = await condition(aggregated)
    assert (found["reason"], found["message"]) == ("Passed", "all checks passed")


async def test_a_program_that_fails_its_check_is_not_asked(aggregated: Server, program: Program) -> None:
    program.healthy = False
    await aggregated.ok("DELETE", "/api/v1/namespaces/default/services/hook")
    assert (await available(aggregated, "False"))["reason"] == "ServiceNotFound"
    answer = await aggregated.call("GET", f"{GROUP}/things")
    assert (answer.code, answer.raw) == (503, b"service unavailable\n")


async def test_the_service_is_missing(server: Server) -> None:
    await server.ok("POST", SERVICES, api_service(443))
    found = await available(server, "False")
    await server.api.close()
    assert (found["reason"], found["message"]) == ("ServiceNotFound", 'service/hook in "default" is not present')


async def test_nothing_listens(server: Server) -> None:
    await register(server, 1)
    found = await available(server, "False")
    await server.api.close()
    url = f"https://localhost:1{GROUP}"
    assert found["reason"] == "FailedDiscoveryCheck"
    assert found["message"].startswith(f'failing or missing response from {url}: Get "{url}": dial tcp 127.0.0.1:1: ')


async def test_a_certificate_of_another_authority(server: Server, program: Program) -> None:
    async with LoopbackServer(program.answer) as other:
        await register(server, other.port, caBundle=None)
        await available(server, "True")
        answer = await server.call("GET", f"{GROUP}/things", user=ADMIN)
        await server.api.close()
    assert answer.code == 503
    assert answer.raw.startswith(b"error trying to reach service: tls: failed to verify certificate: x509: ")


async def test_a_removed_api_is_gone(aggregated: Server) -> None:
    await aggregated.ok("DELETE", f"{SERVICES}/v1.far.example")
    assert (await aggregated.call("GET", f"{GROUP}/things")).code == 404
