"""What patches may not do to the kind of an object, and how refusals show what the patch has made."""

from __future__ import annotations

import pytest

from .serving import APPLY, CONFIGMAPS, JOBS, JSON_PATCH, MERGE, STRATEGIC, Obj, Server, config, job

HPA = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"


async def patch(server: Server, body: object, media: str = MERGE, query: str = "") -> tuple[int, str, list[str]]:
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a{query}", body, media=media)
    return answer.code, answer.message, answer.warnings


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "Job"}, 'no kind "Job" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'),
        ({"apiVersion": "batch/v1", "kind": "Job"}, "converting (v1.Job) to (core.ConfigMap): unknown conversion"),
        ({"apiVersion": "", "kind": "Secret"}, "converting (core.Secret) to (core.ConfigMap): unknown conversion"),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        ({"kind": {}}, "cannot unmarshal object into Go struct field .kind of type string"),
    ],
)
async def test_a_merge_patch_cannot_change_the_kind(server: Server, change: Obj, why: str) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="v"))
    code, message, _ = await patch(server, change)
    assert (code, message.endswith(why)) == (422, True), message


async def test_a_strategic_patch_does_not_look_at_the_kind(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="v"))
    patched = await server.ok("PATCH", f"{CONFIGMAPS}/a", {"kind": "Job", "data": {"x": "y"}}, media=STRATEGIC)
    assert (patched["kind"], patched["data"]) == ("ConfigMap", {"k": "v", "x": "y"})


async def test_without_a_version_no_field_can_be_read(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="v"))
    code, message, warnings = await patch(server, {"apiVersion": None})
    assert (code, warnings) == (400, ['unknown field "data"', 'unknown field "metadata"'])
    assert message == "the name of the object (a based on URL) was undeterminable: name must be provided"


async def test_a_patch_may_turn_an_object_into_another_version_of_its_kind(server: Server) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    await server.ok("POST", HPA.format("v1"), {"metadata": {"name": "h"}, "spec": spec})
    answer = await server.call("PATCH", f"{HPA.format('v1')}/h", {"apiVersion": "autoscaling/v2"}, media=MERGE)
    assert (answer.code, answer.body["apiVersion"]) == (200, "autoscaling/v1")
    assert answer.body["spec"]["targetCPUUtilizationPercentage"] == 80
    assert answer.warnings == ['unknown field "spec.targetCPUUtilizationPercentage"']


async def test_refusals_show_the_patched_document(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="v"))
    _, message, _ = await patch(server, {"data": {"n": 5}})
    assert message.startswith(
        ' "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"v1\\",\\"data\\":{\\"k\\":\\"v\\",\\"n\\":5}'
    )
    _, message, _ = await patch(server, [{"op": "add", "path": "/data", "value": []}], JSON_PATCH)
    assert message.endswith(
        "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string"
    )


async def test_refusals_of_strategic_patches_show_the_patch(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="v"))
    _, message, _ = await patch(server, {"data": {"n": 5}}, STRATEGIC)
    assert message == ' "" is invalid: patch: Invalid value: "map[data:map[n:5]]": cannot convert int64 to string'


async def test_unknown_fields_of_strategic_patches_are_sorted(server: Server) -> None:
    await server.ok("POST", JOBS, job())
    answer = await server.call("PATCH", f"{JOBS}/j", {"z": 1, "spec": {"y": 1, "b": 1}}, media=STRATEGIC)
    assert answer.warnings == ['unknown field "spec.b"', 'unknown field "spec.y"', 'unknown field "z"']


async def test_an_apply_must_name_the_object_of_its_path(server: Server) -> None:
    target = f"{CONFIGMAPS}/b?fieldManager=m"
    answer = await server.call("PATCH", target, config("a"), media=APPLY)
    assert (answer.code, answer.message) == (400, "the name of the object (a) does not match the name on the URL (b)")


async def test_an_apply_of_a_uid_needs_the_object(server: Server) -> None:
    body = {**config("a"), "metadata": {"name": "a", "uid": "u"}}
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", body, media=APPLY)
    assert (answer.code, answer.message.endswith("uid u, and no existing object was found")) == (409, True)


async def test_an_apply_may_create_with_any_version(server: Server) -> None:
    body = {**config("a"), "metadata": {"name": "a", "resourceVersion": "5"}}
    codes = [(await server.call("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", body, media=APPLY)).code for _ in range(2)]
    assert codes == [201, 409]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b"[]",
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go "
            "value of type map[string]interface {}",
        ),
        (
            b"a: b: c",
            "error decoding YAML: error converting YAML to JSON: yaml: mapping values are not allowed in this context",
        ),
    ],
)  # fmt: skip
async def test_an_apply_that_is_no_object(server: Server, text: bytes, message: str) -> None:
    answer = await server.call("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", text, media=APPLY)
    assert (answer.code, answer.message) == (400, message)


async def test_string_data_of_a_patch_joins_the_data(server: Server) -> None:
    path = "/api/v1/namespaces/default/secrets"
    made = await server.ok("POST", path, {"metadata": {"name": "s"}, "data": {"a": "Yg=="}})
    patched = await server.ok("PATCH", f"{path}/s", {"stringData": {"x": "y"}}, media=MERGE)
    assert patched["data"] == {"a": "Yg==", "x": "eQ=="}
    assert patched["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


async def test_a_v1_table_shows_all_metrics_of_an_autoscaler(server: Server) -> None:
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    resource = {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 60}}
    spec = {"maxReplicas": 3, "scaleTargetRef": target, "metrics": [{"type": "Resource", "resource": resource}]}
    await server.ok("POST", HPA.format("v2"), {"metadata": {"name": "a"}, "spec": spec})
    as_table = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    (row,) = (await server.ok("GET", HPA.format("v1"), headers=as_table))["rows"]
    assert row["cells"][2] == "memory: <unknown>/60%"


SECRETS = "/api/v1/namespaces/default/secrets"
_SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
_TEXTS = [
    (MERGE, {"stringData": {"b": "two"}}),
    (STRATEGIC, {"stringData": {"b": "two"}}),
    (JSON_PATCH, [{"op": "add", "path": "/stringData", "value": {"b": "two"}}]),
    (APPLY, {**_SECRET, "stringData": {"b": "two"}}),
]


@pytest.mark.parametrize(("media", "body"), _TEXTS)
async def test_every_patch_may_give_a_secret_texts(server: Server, media: str, body: object) -> None:
    await server.ok("POST", SECRETS, {**_SECRET, "stringData": {"a": "one"}})
    await server.ok("PATCH", f"{SECRETS}/s?fieldManager=me", body, media=media)
    found = await server.ok("GET", f"{SECRETS}/s")
    assert (found["data"], "stringData" in found) == ({"a": "b25l", "b": "dHdv"}, False)


@pytest.mark.parametrize(("media", "body"), _TEXTS)
async def test_no_patch_changes_what_is_immutable(server: Server, media: str, body: object) -> None:
    await server.ok("POST", SECRETS, {**_SECRET, "stringData": {"a": "one"}, "immutable": True})
    answer = await server.call("PATCH", f"{SECRETS}/s?fieldManager=me", body, media=media)
    assert (answer.code, "field is immutable when `immutable` is set" in answer.message) == (422, True)
