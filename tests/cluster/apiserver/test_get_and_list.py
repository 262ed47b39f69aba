"""Reading: one object, lists, pages of lists."""

from __future__ import annotations

import base64
import datetime as dt
import json

import pytest

from .serving import CONFIGMAPS, JOBS, Server, config


async def test_an_object_is_read_as_it_was_written(server: Server) -> None:
    created = await server.ok("POST", CONFIGMAPS, config(k="v"))
    assert await server.ok("GET", f"{CONFIGMAPS}/a") == created
    assert (created["kind"], created["apiVersion"], created["data"]) == ("ConfigMap", "v1", {"k": "v"})


async def test_a_missing_object_is_named(server: Server) -> None:
    answer = await server.call("GET", f"{JOBS}/none")
    assert (answer.code, answer.message) == (404, 'jobs.batch "none" not found')
    assert answer.body["details"] == {"name": "none", "group": "batch", "kind": "jobs"}


async def test_items_of_a_list_have_no_kind_and_come_in_order(server: Server) -> None:
    for name in "bca":
        await server.ok("POST", CONFIGMAPS, config(name))
    answer = await server.call("GET", f"{CONFIGMAPS}?fieldSelector=metadata.name!=kube-root-ca.crt")
    assert (answer.names, answer.body["kind"]) == (["a", "b", "c"], "ConfigMapList")
    assert all("kind" not in item for item in answer.body["items"])


async def test_a_list_of_all_namespaces_is_ordered_by_namespace(server: Server) -> None:
    await server.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "another"}})
    await server.ok("POST", CONFIGMAPS, config("a"))
    await server.ok("POST", "/api/v1/namespaces/another/configmaps", config("z"))
    listed = (await server.call("GET", "/api/v1/configmaps")).body["items"]
    places = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in listed]
    assert places == sorted(places)
    assert places[:2] == [("another", "z"), ("default", "a")]


async def pages(server: Server, target: str) -> list[list[str]]:
    found, token = [], ""
    while True:
        answer = await server.call("GET", f"{target}&continue={token}")
        found.append(answer.names)
        token = answer.body["metadata"].get("continue", "")
        if not token:
            return found


async def test_pages_hold_everything_once(server: Server) -> None:
    for name in "abcde":
        await server.ok("POST", CONFIGMAPS, config(name))
    assert await pages(server, f"{CONFIGMAPS}?limit=2") == [["a", "b"], ["c", "d"], ["e", "kube-root-ca.crt"]]


async def test_the_rest_of_a_list_is_counted_unless_it_is_selected(server: Server) -> None:
    for name in "abc":
        await server.ok("POST", CONFIGMAPS, config(name, {"x": "y"}))
    plain = (await server.call("GET", f"{CONFIGMAPS}?limit=1")).body["metadata"]
    selected = (await server.call("GET", f"{CONFIGMAPS}?limit=1&labelSelector=x")).body["metadata"]
    assert (plain["remainingItemCount"], selected.get("remainingItemCount")) == (3, None)


async def test_later_pages_show_the_state_of_the_first(server: Server) -> None:
    for name in "abc":
        await server.ok("POST", CONFIGMAPS, config(name))
    first = await server.call("GET", f"{CONFIGMAPS}?limit=1")
    await server.ok("DELETE", f"{CONFIGMAPS}/b")
    await server.ok("POST", CONFIGMAPS, config("aa"))
    rest = await server.call("GET", f"{CONFIGMAPS}?continue={first.body['metadata']['continue']}")
    assert (rest.names, rest.version) == (["b", "c", "kube-root-ca.crt"], first.version)


async def test_a_page_of_a_forgotten_version_is_expired() -> None:
    server = Server(history=3)
    for name in "abc":
        await server.ok("POST", CONFIGMAPS, config(name))
    token = (await server.call("GET", f"{CONFIGMAPS}?limit=1")).body["metadata"]["continue"]
    for value in "12345":
        await server.ok("PUT", f"{CONFIGMAPS}/a", config("a", v=value))
    answer = await server.call("GET", f"{CONFIGMAPS}?limit=1&continue={token}")
    assert (answer.code, answer.reason) == (410, "Expired")
    assert answer.message.startswith("The provided continue parameter is too old")


async def test_a_list_may_go_on_with_the_token_of_an_expired_page(server: Server) -> None:
    for name in "abc":
        await server.ok("POST", CONFIGMAPS, config(name))
    first = (await server.ok("GET", f"{CONFIGMAPS}?limit=1"))["metadata"]
    await server.ok("POST", CONFIGMAPS, config("d"))
    server.now += dt.timedelta(minutes=5)
    answer = await server.call("GET", f"{CONFIGMAPS}?limit=1&continue={first['continue']}")
    assert (answer.code, answer.reason) == (410, "Expired")
    rest = await server.call("GET", f"{CONFIGMAPS}?continue={answer.body['metadata']['continue']}")
    assert rest.names == ["b", "c", "d", "kube-root-ca.crt"]
    assert rest.version != first["resourceVersion"]


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("!", "illegal base64 data at input byte 0"),
        (base64.urlsafe_b64encode(b"x").decode().rstrip("="), "invalid character 'x' looking for beginning of value"),
        (base64.urlsafe_b64encode(json.dumps({"v": "v0"}).encode()).decode().rstrip("="), "server does not recognize"),
    ],
)
async def test_a_continue_token_that_is_not_ours_is_refused(server: Server, token: str, why: str) -> None:
    answer = await server.call("GET", f"{CONFIGMAPS}?continue={token}")
    assert (answer.code, why in answer.message) == (400, True), answer.message


async def test_the_limit_does_not_matter_for_any_version(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    answer = await server.call("GET", f"{CONFIGMAPS}?limit=1&resourceVersion=0")
    assert (answer.names, "continue" in answer.body["metadata"]) == (["a", "kube-root-ca.crt"], False)


async def test_an_exact_version_is_listed_as_it_was(server: Server) -> None:
    version = (await server.call("GET", CONFIGMAPS)).version
    await server.ok("POST", CONFIGMAPS, config())
    exact = await server.call("GET", f"{CONFIGMAPS}?resourceVersion={version}&resourceVersionMatch=Exact")
    later = await server.call("GET", f"{CONFIGMAPS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")
    assert ("a" in exact.names, exact.version, "a" in later.names) == (False, version, True)


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        ("resourceVersion=abc", 400, 'invalid resource version: resourceVersion: Invalid value: "abc"'),
        ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("resourceVersionMatch=Exact", 422, "resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, 'is forbidden for resourceVersion "0"'),
        ("resourceVersion=1&resourceVersionMatch=Nearly", 422, 'Unsupported value: "Nearly"'),
        ("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
    ],
)
async def test_wrong_options_of_a_list(server: Server, query: str, code: int, text: str) -> None:
    answer = await server.call("GET", f"{CONFIGMAPS}?{query}")
    assert (answer.code, text in answer.message) == (code, True), answer.message


@pytest.mark.looptime
async def test_a_version_of_the_future_is_waited_for_and_given_up(server: Server) -> None:
    answer = await server.call("GET", f"{CONFIGMAPS}?resourceVersion=999999")
    assert (answer.code, answer.headers["Retry-After"]) == (504, "1")
    assert answer.message.startswith("Timeout: Too large resource version: 999999, current: ")
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
