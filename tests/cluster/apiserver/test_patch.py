"""The four kinds of patch as requests; their rules are tested where they live."""

from __future__ import annotations

import pytest

from .serving import APPLY, CONFIGMAPS, JOBS, JSON_PATCH, MERGE, PODS, STRATEGIC, Server, config, job, pod


async def test_a_merge_patch_sets_and_removes(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(a="1", b="2"))
    patched = await server.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": None, "c": "3"}}, media=MERGE)
    assert patched["data"] == {"b": "2", "c": "3"}


async def test_a_json_patch_does_all_or_nothing(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    good = [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "add", "path": "/data/b", "value": "2"}]
    assert (await server.ok("PATCH", f"{CONFIGMAPS}/a", good, media=JSON_PATCH))["data"] == {"a": "1", "b": "2"}
    bad = [{"op": "remove", "path": "/data/a"}, {"op": "test", "path": "/data/b", "value": "x"}]
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a", bad, media=JSON_PATCH)
    assert (answer.code, answer.message) == (422, "the server rejected our request due to an error in our request")
    assert (await server.ok("GET", f"{CONFIGMAPS}/a"))["data"] == {"a": "1", "b": "2"}


async def test_a_strategic_patch_merges_lists_by_their_keys(server: Server) -> None:
    await server.ok("POST", PODS, pod(tolerations=[{"key": "a", "operator": "Exists"}]))
    patch = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    patched = await server.ok("PATCH", f"{PODS}/p", patch, media=STRATEGIC)
    (container,) = patched["spec"]["containers"]
    assert (container["image"], container["terminationMessagePath"]) == ("other", "/dev/termination-log")


async def test_a_patch_may_insist_on_a_version(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    patch = {"metadata": {"resourceVersion": "1"}, "data": {"k": "v"}}
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a", patch, media=MERGE)
    assert (answer.code, answer.reason) == (409, "Conflict")


async def test_a_patch_of_nothing_keeps_the_version(server: Server) -> None:
    made = await server.ok("POST", CONFIGMAPS, config(k="v"))
    assert await server.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"k": "v"}}, media=MERGE) == made


async def test_a_patch_of_a_missing_object(server: Server) -> None:
    assert (await server.call("PATCH", f"{CONFIGMAPS}/a", {}, media=MERGE)).code == 404


async def test_a_patch_needs_its_media_type(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a", {}, media="application/json")
    assert (answer.code, answer.message) == (415, "415: Unsupported Media Type")


async def test_a_strict_patch_refuses_unknown_fields(server: Server) -> None:
    await server.ok("POST", JOBS, job())
    answer = await server.call("PATCH", f"{JOBS}/j?fieldValidation=Strict", {"spec": {"colour": 1}}, media=MERGE)
    assert (answer.code, 'strict decoding error: unknown field "spec.colour"' in answer.message) == (422, True)


async def test_the_uid_cannot_be_patched(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"uid": "u"}}, media=MERGE)
    assert (answer.code, 'metadata.uid: Invalid value: "u": field is immutable' in answer.message) == (422, True)


async def test_force_belongs_to_apply(server: Server) -> None:
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a?force=true", {}, media=MERGE)
    assert (answer.code, "force: Forbidden: may not be specified for non-apply patch" in answer.message) == (422, True)


async def apply(server: Server, manager: str, force: str = "", **data: str) -> tuple[int, dict[str, str]]:
    target = f"{CONFIGMAPS}/a?fieldManager={manager}{force}"
    answer = await server.call("PATCH", target, config(**data), media=APPLY)
    return answer.code, answer.body.get("data") or {"message": answer.message}


async def test_an_apply_creates_and_then_changes(server: Server) -> None:
    assert await apply(server, "one", k="1") == (201, {"k": "1"})
    assert await apply(server, "one", k="2") == (200, {"k": "2"})


async def test_applying_the_same_again_changes_nothing(server: Server) -> None:
    await apply(server, "one", k="1")
    version = server.store.version
    await apply(server, "one", k="1")
    assert server.store.version == version


async def test_what_another_manager_owns_is_a_conflict(server: Server) -> None:
    await apply(server, "one", k="1")
    code, refused = await apply(server, "two", k="2")
    assert (code, refused["message"]) == (409, 'Apply failed with 1 conflict: conflict with "one": .data.k')


async def test_force_takes_over(server: Server) -> None:
    await apply(server, "one", k="1")
    assert await apply(server, "two", "&force=true", k="2") == (200, {"k": "2"})
    code, _ = await apply(server, "one", k="1")
    assert code == 409


async def test_fields_that_are_no_longer_applied_go(server: Server) -> None:
    await apply(server, "one", k="1", other="2")
    await apply(server, "two", other="2")
    assert await apply(server, "one", k="1") == (200, {"k": "1", "other": "2"})
    assert await apply(server, "two") == (200, {"k": "1"})


async def test_an_apply_needs_a_manager(server: Server) -> None:
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a", config(), media=APPLY)
    assert (answer.code, "fieldManager: Required value: is required for apply patch" in answer.message) == (422, True)


async def test_an_apply_of_an_unknown_field_does_not_fit_the_schema(server: Server) -> None:
    answer = await server.call("PATCH", f"{JOBS}/j?fieldManager=m", job(colour="red"), media=APPLY)
    assert (answer.code, ".spec.colour: field not declared in schema" in answer.message) == (500, True)


@pytest.mark.parametrize("media", [MERGE, STRATEGIC, JSON_PATCH, APPLY])
async def test_a_dry_run_of_a_patch_changes_nothing(server: Server, media: str) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="1"))
    version = server.store.version
    body = [{"op": "add", "path": "/data/x", "value": "y"}] if media == JSON_PATCH else config(x="y")
    patched = await server.ok("PATCH", f"{CONFIGMAPS}/a?dryRun=All&fieldManager=m", body, media=media)
    assert (patched["data"], server.store.version) == ({"k": "1", "x": "y"}, version)
