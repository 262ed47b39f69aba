"""Forms of answers and of requests: tables, metadata only, YAML, protobuf bodies, and what is not understood."""

from __future__ import annotations

import pytest
import yaml

from jobrelay.apimachinery.types import type_for_kind

from .fuzzing import PROTOBUF
from .protobuf import encoded
from .serving import CONFIGMAPS, JOBS, YAML, Server, config, job


def shown_as(kind: str, version: str = "v1") -> dict[str, str]:
    return {"Accept": f"application/json;as={kind};g=meta.k8s.io;v={version}"}


async def test_a_list_is_shown_as_a_table(server: Server) -> None:
    await server.ok("POST", JOBS, job())
    table = await server.ok("GET", JOBS, headers=shown_as("Table"))
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names[:4] == ["Name", "Status", "Completions", "Duration"]
    (row,) = table["rows"]
    assert (row["cells"][:3], row["object"]["kind"]) == (["j", "Running", "0/1"], "PartialObjectMetadata")


@pytest.mark.parametrize(
    ("include", "kind"), [("Object", "ConfigMap"), ("Metadata", "PartialObjectMetadata"), ("None", None)]
)
async def test_rows_hold_what_was_asked_for(server: Server, include: str, kind: str | None) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    table = await server.ok("GET", f"{CONFIGMAPS}/a?includeObject={include}", headers=shown_as("Table"))
    shown = table["rows"][0]["object"]
    assert (shown and shown["kind"]) == kind


async def test_metadata_alone(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="v"))
    one = await server.ok("GET", f"{CONFIGMAPS}/a", headers=shown_as("PartialObjectMetadata"))
    many = await server.ok("GET", CONFIGMAPS, headers=shown_as("PartialObjectMetadataList"))
    assert one.keys() == {"kind", "apiVersion", "metadata"}
    assert (many["kind"], many["items"][0]["metadata"]["name"]) == ("PartialObjectMetadataList", "a")


async def test_a_form_that_does_not_fit_is_refused(server: Server) -> None:
    answer = await server.call("GET", CONFIGMAPS, headers=shown_as("PartialObjectMetadata"))
    assert (answer.code, answer.reason) == (406, "NotAcceptable")


async def test_answers_in_yaml(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="v"))
    answer = await server.call("GET", f"{CONFIGMAPS}/a", headers={"Accept": YAML})
    assert (answer.media, yaml.safe_load(answer.raw)["data"]) == (YAML, {"k": "v"})


@pytest.mark.parametrize("accept", ["text/html", "application/*", "application/json;as=Nothing;g=meta.k8s.io;v=v1"])
async def test_forms_that_are_not_known(server: Server, accept: str) -> None:
    answer = await server.call("GET", CONFIGMAPS, headers={"Accept": accept})
    assert (answer.code, answer.reason) == (406, "NotAcceptable")


@pytest.mark.parametrize(
    "accept", ["", "*/*", f"{PROTOBUF}, */*", f"{PROTOBUF},application/json", "application/json;q=0.5,*/*;q=0.1"]
)
async def test_whoever_takes_json_gets_json(server: Server, accept: str) -> None:
    answer = await server.call("GET", CONFIGMAPS, headers={"Accept": accept} if accept else None)
    assert (answer.code, answer.media) == (200, "application/json")


@pytest.mark.parametrize(
    ("agent", "query", "lines"),
    [("curl/8", "", True), ("go", "", False), ("go", "?pretty=true", True), ("curl/8", "?pretty=false", False)],
)
async def test_people_get_indented_answers(server: Server, agent: str, query: str, lines: bool) -> None:
    answer = await server.call("GET", f"/api/v1/namespaces/default{query}", headers={"User-Agent": agent})
    assert (answer.raw.count(b"\n") > 1) == lines


async def test_protobuf_bodies_are_read(server: Server) -> None:
    type_ = type_for_kind("batch/v1", "Job")
    assert type_ is not None
    made = await server.ok("POST", JOBS, encoded(job(parallelism=3), type_), media=PROTOBUF)
    assert (made["spec"]["parallelism"], made["spec"]["template"]["spec"]["restartPolicy"]) == (3, "Never")
    options = type_for_kind("v1", "DeleteOptions") or type_for_kind("meta.k8s.io/v1", "DeleteOptions")
    assert options is not None
    sent = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    await server.ok("DELETE", f"{JOBS}/j", encoded(sent, options), media=PROTOBUF)
    assert (await server.call("GET", f"{JOBS}/j")).code == 404


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a\xff", "unexpected EOF"),
    ],
)
async def test_protobuf_that_is_none(server: Server, body: bytes, text: str) -> None:
    answer = await server.call("POST", CONFIGMAPS, body, media=PROTOBUF)
    assert (answer.code, text in answer.message) == (400, True), answer.message


async def test_a_body_in_an_unknown_form(server: Server) -> None:
    answer = await server.call("POST", CONFIGMAPS, config(), media="text/plain")
    assert (answer.code, answer.reason) == (415, "UnsupportedMediaType")
    assert answer.message.endswith("application/json, application/yaml, application/vnd.kubernetes.protobuf")


async def test_a_body_without_a_form_is_json(server: Server) -> None:
    assert (await server.call("POST", CONFIGMAPS, config())).code == 201


async def test_of_a_header_that_is_sent_twice_the_first_value_counts(server: Server) -> None:
    answer = await server.call("GET", CONFIGMAPS, headers={"Accept": ["application/yaml", "text/html"]})
    assert (answer.code, answer.media) == (200, "application/yaml")


async def test_kinds_that_are_never_stored_have_no_table(server: Server) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    body = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    assert (await server.call("POST", path, body, headers=shown_as("Table"))).code == 406
    both = {"Accept": f"{shown_as('Table')['Accept']},application/json"}
    assert (await server.ok("POST", path, body, headers=both))["kind"] == "SelfSubjectAccessReview"
    metadata = await server.ok("POST", path, body, headers=shown_as("PartialObjectMetadata"))
    assert metadata["kind"] == "PartialObjectMetadata"


async def test_the_table_of_a_dry_run_has_no_version(server: Server) -> None:
    table = await server.ok("POST", f"{CONFIGMAPS}?dryRun=All", config(), headers=shown_as("Table"))
    assert "resourceVersion" not in table["metadata"]


async def test_items_of_metadata_name_no_type_where_protobuf_was_asked_for(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    as_json = shown_as("PartialObjectMetadataList")
    as_protobuf = {"Accept": as_json["Accept"].replace("application/json", PROTOBUF) + "," + as_json["Accept"]}
    typed, untyped = [(await server.ok("GET", CONFIGMAPS, headers=form))["items"] for form in (as_json, as_protobuf)]
    assert [item["kind"] for item in typed] == ["PartialObjectMetadata"] * len(typed)
    assert untyped == [{"metadata": item["metadata"]} for item in typed]
