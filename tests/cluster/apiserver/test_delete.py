"""Deleting: at once, later, conditionally, and many at a time."""

from __future__ import annotations

import datetime as dt

import pytest

from .serving import CONFIGMAPS, JOBS, MERGE, PODS, Server, config, job, pod


async def test_a_deleted_object_is_gone(server: Server) -> None:
    made = await server.ok("POST", CONFIGMAPS, config())
    answer = await server.ok("DELETE", f"{CONFIGMAPS}/a")
    assert answer["details"] == {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert (await server.call("DELETE", f"{CONFIGMAPS}/a")).code == 404


async def test_some_kinds_answer_with_the_object(server: Server) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts"
    await server.ok("POST", path, {"metadata": {"name": "s"}})
    assert (await server.ok("DELETE", f"{path}/s"))["kind"] == "ServiceAccount"


async def test_finalizers_are_waited_for(server: Server) -> None:
    sent = config()
    sent["metadata"]["finalizers"] = ["x.example/y"]
    await server.ok("POST", CONFIGMAPS, sent)
    marked = await server.ok("DELETE", f"{CONFIGMAPS}/a")
    assert (marked["metadata"]["deletionTimestamp"], marked["metadata"]["deletionGracePeriodSeconds"]) == (
        "2026-01-01T12:00:00Z",
        0,
    )
    taken = await server.call("POST", CONFIGMAPS, config())
    assert taken.message == 'object is being deleted: configmaps "a" already exists'
    await server.ok("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}}, media=MERGE)
    assert (await server.call("GET", f"{CONFIGMAPS}/a")).code == 404


async def test_an_object_that_goes_gets_no_new_finalizers(server: Server) -> None:
    sent = config()
    sent["metadata"]["finalizers"] = ["x.example/y"]
    await server.ok("POST", CONFIGMAPS, sent)
    await server.ok("DELETE", f"{CONFIGMAPS}/a")
    patch = {"metadata": {"finalizers": ["x.example/y", "x.example/z"]}}
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a", patch, media=MERGE)
    assert (answer.code, "no new finalizers can be added if the object is being deleted" in answer.message) == (
        422,
        True,
    )


@pytest.mark.parametrize(
    ("policy", "finalizers"), [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"]), ("Background", None)]
)
async def test_propagation_leaves_work_to_the_collector(
    server: Server, policy: str, finalizers: list[str] | None
) -> None:
    await server.ok("POST", JOBS, job())
    answer = await server.call("DELETE", f"{JOBS}/j", {"propagationPolicy": policy})
    left = await server.call("GET", f"{JOBS}/j")
    assert (answer.code, left.code) == (200, 404 if finalizers is None else 200)
    if finalizers is not None:
        assert left.body["metadata"]["finalizers"] == finalizers


async def test_a_job_orphans_its_pods_unless_told_otherwise(server: Server) -> None:
    await server.ok("POST", JOBS, job())
    answer = await server.call("DELETE", f"{JOBS}/j")
    assert answer.warnings == [
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
        "set propagationPolicy=Orphan to suppress this warning"
    ]
    assert (await server.ok("GET", f"{JOBS}/j"))["metadata"]["finalizers"] == ["orphan"]


async def test_a_pod_without_a_node_goes_at_once(server: Server) -> None:
    await server.ok("POST", PODS, pod())
    await server.ok("DELETE", f"{PODS}/p")
    assert (await server.call("GET", f"{PODS}/p")).code == 404


async def test_a_pod_on_a_node_gets_its_grace(server: Server) -> None:
    await server.ok("POST", PODS, pod(nodeName="n"))
    leaving = (await server.ok("DELETE", f"{PODS}/p"))["metadata"]
    assert (leaving["deletionTimestamp"], leaving["deletionGracePeriodSeconds"]) == ("2026-01-01T12:00:30Z", 30)
    server.now += dt.timedelta(seconds=10)
    sooner = (await server.ok("DELETE", f"{PODS}/p?gracePeriodSeconds=15"))["metadata"]
    assert (sooner["deletionTimestamp"], sooner["deletionGracePeriodSeconds"]) == ("2026-01-01T12:00:15Z", 15)
    await server.ok("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
    assert (await server.call("GET", f"{PODS}/p")).code == 404


@pytest.mark.parametrize(
    ("preconditions", "text"),
    [
        ({"uid": "u"}, "the UID in the precondition (u)"),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1)"),
    ],
)
async def test_preconditions_protect(server: Server, preconditions: dict[str, str], text: str) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    answer = await server.call("DELETE", f"{CONFIGMAPS}/a", {"preconditions": preconditions})
    assert (answer.code, text in answer.message) == (409, True)
    assert (await server.call("GET", f"{CONFIGMAPS}/a")).code == 200


async def test_options_of_the_body_replace_those_of_the_query(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    await server.ok("DELETE", f"{CONFIGMAPS}/a?dryRun=All", {})
    assert (await server.call("GET", f"{CONFIGMAPS}/a")).code == 404


async def test_a_dry_run_deletes_nothing(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    await server.ok("DELETE", f"{CONFIGMAPS}/a?dryRun=All")
    assert (await server.call("GET", f"{CONFIGMAPS}/a")).code == 200


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"propagationPolicy": "Later"}, 'Unsupported value: "Later"'),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, "cannot be both set"),
        ({"dryRun": ["Some"]}, 'dryRun: Unsupported value: ["Some"]'),
    ],
)
async def test_wrong_options_of_a_delete(server: Server, body: dict[str, object], text: str) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    answer = await server.call("DELETE", f"{CONFIGMAPS}/a", body)
    assert (answer.code, text in answer.message) == (422, True), answer.message


async def test_a_collection_is_deleted_by_selection(server: Server) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        await server.ok("POST", CONFIGMAPS, config(name, {"colour": colour}))
    answer = await server.call("DELETE", f"{CONFIGMAPS}?labelSelector=colour=red")
    assert (answer.code, answer.names, answer.body["kind"]) == (200, ["a", "c"], "ConfigMapList")
    assert (await server.call("GET", CONFIGMAPS)).names == ["b", "kube-root-ca.crt"]


async def test_a_dry_run_of_a_collection_deletes_nothing(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    await server.ok("DELETE", f"{CONFIGMAPS}?dryRun=All")
    assert (await server.call("GET", CONFIGMAPS)).names == ["a", "kube-root-ca.crt"]


async def test_not_every_collection_can_be_deleted(server: Server) -> None:
    answer = await server.call("DELETE", "/api/v1/namespaces")
    assert (answer.code, answer.reason) == (405, "MethodNotAllowed")
