"""The scale subresource: what it shows, what it takes, and who owns the replicas afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from .serving import APPLY, JSON_PATCH, MERGE, STRATEGIC, Obj, Server
from .test_custom_resources import WIDGETS, define, widget

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALE = f"{DEPLOYMENTS}/d/scale"
PATHS = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"}


def scale(replicas: Any = 2, name: str = "d", **metadata: str) -> Obj:
    spec = {"replicas": replicas}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, **metadata}, "spec": spec}


@pytest.fixture
async def deployed(server: Server) -> Server:
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    await server.ok("POST", f"{DEPLOYMENTS}?fieldManager=maker", {"metadata": {"name": "d"}, "spec": spec})
    return server


async def owners(
    server: Server, path: str = f"{DEPLOYMENTS}/d", field: str = "f:replicas"
) -> list[tuple[str, str, str]]:
    """Who owns the replicas: manager, operation, subresource."""
    found = (await server.ok("GET", path))["metadata"]["managedFields"]
    return [
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in found
        if field in entry["fieldsV1"].get("f:spec", {})
    ]


async def test_a_scale_is_a_view(deployed: Server) -> None:
    found = await deployed.ok("GET", SCALE)
    assert (found["kind"], found["spec"], found["status"]) == (
        "Scale",
        {"replicas": 1},
        {"replicas": 0, "selector": "app=d"},
    )
    assert set(found["metadata"]) == {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}


async def test_whoever_scales_owns_the_replicas(deployed: Server) -> None:
    assert await owners(deployed) == [("maker", "Update", "")]
    await deployed.ok("PUT", f"{SCALE}?fieldManager=scaler", scale(3))
    assert await owners(deployed) == [("scaler", "Update", "scale")]


@pytest.mark.parametrize(
    ("media", "body"),
    [
        (MERGE, {"spec": {"replicas": 4}}),
        (STRATEGIC, {"spec": {"replicas": 4}}),
        (JSON_PATCH, [{"op": "replace", "path": "/spec/replicas", "value": 4}]),
        (APPLY, scale(4)),
    ],
)
async def test_scales_are_patched_in_every_way(deployed: Server, media: str, body: object) -> None:
    patched = await deployed.ok(
        "PATCH", f"{SCALE}?fieldManager=m{'&force=true' if media == APPLY else ''}", body, media=media
    )
    assert patched["spec"] == {"replicas": 4}
    assert (await deployed.ok("GET", f"{DEPLOYMENTS}/d"))["spec"]["replicas"] == 4
    assert await owners(deployed) == [("m", "Apply" if media == APPLY else "Update", "scale")]


async def test_applying_a_scale_can_conflict(deployed: Server) -> None:
    answer = await deployed.call("PATCH", f"{SCALE}?fieldManager=m", scale(4), media=APPLY)
    assert (answer.code, answer.message) == (
        409,
        'Apply failed with 1 conflict: conflict with "maker" using autoscaling/v1: .spec.replicas',
    )


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (scale(-1), 422, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        (scale("x"), 400, "cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"),
        (scale(name="other"), 400, "the name of the object (other) does not match the name on the URL (d)"),
        (scale(resourceVersion="1"), 409, "please apply your changes to the latest version and try again"),
        (scale(uid="u"), 409, "Precondition failed: UID in precondition: u"),
    ],
)
async def test_wrong_scales_are_refused(deployed: Server, body: Obj, code: int, message: str) -> None:
    answer = await deployed.call("PUT", SCALE, body)
    assert (answer.code, message in answer.message) == (code, True), answer.message


async def test_custom_resources_are_scaled_at_the_paths_of_their_definition(server: Server) -> None:
    await define(server, subresources={"status": {}, "scale": PATHS})
    await server.ok("POST", f"{WIDGETS}?fieldManager=maker", widget(size=2))
    assert (await server.ok("PATCH", f"{WIDGETS}/w/scale?fieldManager=m", {"spec": {"replicas": 5}}, media=MERGE))[
        "spec"
    ] == {"replicas": 5}
    assert (await server.ok("GET", f"{WIDGETS}/w"))["spec"]["size"] == 5
    assert await owners(server, f"{WIDGETS}/w", "f:size") == [("m", "Update", "scale")]


async def test_a_custom_resource_without_a_count_needs_one(server: Server) -> None:
    await define(server, subresources={"scale": PATHS})
    await server.ok("POST", WIDGETS, {**widget(), "spec": None})
    assert (await server.call("GET", f"{WIDGETS}/w/scale")).message.endswith(
        'spec replicas field ".spec.size" does not exist'
    )
    answer = await server.call("PATCH", f"{WIDGETS}/w/scale", {}, media=MERGE)
    assert (answer.code, answer.message) == (400, 'the spec replicas field ".spec.size" cannot be empty')
    await server.ok("PATCH", f"{WIDGETS}/w/scale", {"spec": {"replicas": 2}}, media=MERGE)
    assert (await server.ok("GET", f"{WIDGETS}/w"))["spec"] == {"size": 2}
