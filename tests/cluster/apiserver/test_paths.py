"""What is not about objects: discovery, version, health, limits, and paths that lead nowhere."""

from __future__ import annotations

import pytest

from jobrelay.cluster.apiserver.body import BODY_LIMIT
from jobrelay.cluster.apiserver.request import split_target

from .serving import CONFIGMAPS, Server, config

AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}


async def test_groups_and_versions_are_listed(server: Server) -> None:
    assert (await server.ok("GET", "/api"))["versions"] == ["v1"]
    groups = {group["name"]: group for group in (await server.ok("GET", "/apis"))["groups"]}
    assert groups["batch"]["preferredVersion"] == {"groupVersion": "batch/v1", "version": "v1"}
    assert (await server.ok("GET", "/apis/batch")) == {"kind": "APIGroup", "apiVersion": "v1", **groups["batch"]}


async def test_resources_are_listed_with_their_subresources(server: Server) -> None:
    listed = {resource["name"]: resource for resource in (await server.ok("GET", "/apis/batch/v1"))["resources"]}
    assert listed.keys() == {"jobs", "jobs/status", "cronjobs", "cronjobs/status"}
    assert (listed["jobs"]["kind"], listed["jobs"]["namespaced"]) == ("Job", True)
    assert listed["jobs"]["verbs"] == [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ]
    assert listed["jobs/status"]["singularName"] == ""


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_two_requests_discover_everything(server: Server, path: str) -> None:
    answer = await server.call("GET", path, headers=AGGREGATED)
    assert answer.media == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert (answer.body["kind"], answer.headers["Vary"]) == ("APIGroupDiscoveryList", "Accept")
    assert all(version["resources"] for group in answer.body["items"] for version in group["versions"])


async def test_the_version_is_that_of_kubernetes(server: Server) -> None:
    for path in ("/version", "/version/"):
        assert (await server.ok("GET", path))["gitVersion"] == "v1.35.4"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_the_server_is_healthy(server: Server, path: str) -> None:
    answer = await server.call("GET", path)
    assert (answer.code, answer.raw) == (200, b"ok")


@pytest.mark.parametrize(
    "path", ["/apis/none.example/v1/things", "/apis/none.example", "/somewhere", "/healthz/nothing"]
)
async def test_paths_that_lead_nowhere(server: Server, path: str) -> None:
    answer = await server.call("GET", path)
    assert (answer.code, answer.media, answer.raw) == (404, "text/plain; charset=utf-8", b"404 page not found\n")


@pytest.mark.parametrize("path", ["/apis/batch/v9/jobs", "/apis/batch/v1/nothings", "/api/v2", "/apis/batch/v1/jobs/j"])
async def test_resources_that_are_not_served(server: Server, path: str) -> None:
    answer = await server.call("GET", path)
    assert (answer.code, answer.message) == (404, "the server could not find the requested resource")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", f"{CONFIGMAPS}/a"), ("PUT", CONFIGMAPS), ("PATCH", CONFIGMAPS), ("POST", "/api/v1/configmaps")],
)
async def test_methods_that_make_no_sense(server: Server, method: str, path: str) -> None:
    answer = await server.call(method, path, config())
    assert (answer.code, answer.message) == (405, "the server does not allow this method on the requested resource")


async def test_a_body_has_its_limit(server: Server) -> None:
    answer = await server.call("POST", CONFIGMAPS, b" " * (BODY_LIMIT + 1))
    assert (answer.code, answer.message) == (413, "Request entity too large: limit is 3145728")


async def test_a_config_map_has_its_limit(server: Server) -> None:
    answer = await server.call("POST", CONFIGMAPS, config(k="x" * 1_048_577))
    assert (answer.code, "Too long: may not be more than 1048576 bytes" in answer.message) == (422, True)


async def test_depth_has_its_limit(server: Server) -> None:
    body = b'{"metadata":{"name":"a","annotations":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001 + b"}"
    answer = await server.call("POST", CONFIGMAPS, body)
    assert answer.code == 400


async def test_warnings_are_headers(server: Server) -> None:
    answer = await server.api.handle(server.request("POST", CONFIGMAPS, {**config(), "colour": 1}))
    assert ("Warning", '299 - "unknown field \\"colour\\""') in answer.fields()


async def test_deprecated_versions_warn(server: Server) -> None:
    answer = await server.call("GET", "/api/v1/componentstatuses")
    assert answer.warnings == ["v1 ComponentStatus is deprecated in v1.19+"]


async def test_the_root_lists_all_paths(server: Server) -> None:
    paths = (await server.ok("GET", "/"))["paths"]
    assert {"/api/v1", "/apis/batch/v1", "/healthz/ping", "/version"} <= set(paths)
    assert paths == sorted(paths)


@pytest.mark.parametrize("target", ["//[", "http://[/api", "/api//v1", "//[/api?a=b#c"])
async def test_paths_that_are_no_addresses_lead_nowhere(server: Server, target: str) -> None:
    assert (await server.call("GET", target)).code in (200, 404)


def test_absolute_targets_are_paths() -> None:
    assert split_target("http://[::1]:6443/api/v1?a=b&c#d") == ("/api/v1", {"a": ["b"], "c": [""]})


@pytest.mark.parametrize("path", ["/version", "/openapi/v2", "/apis/none.example.com/v1/x", "//api", CONFIGMAPS])
async def test_a_timeout_is_a_duration_whatever_is_asked_for(server: Server, path: str) -> None:
    answer = await server.call("GET", f"{path}?timeout=soon", user=None)
    text = 'invalid timeout specified in the request URL - time: invalid duration "soon"'
    assert (answer.code, answer.message) == (400, text)


async def test_a_watch_does_not_read_the_timeout(server: Server) -> None:
    await server.watch(f"{CONFIGMAPS}?timeout=soon")
