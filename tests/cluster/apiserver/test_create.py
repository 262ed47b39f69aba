"""Creating objects."""

from __future__ import annotations

import pytest

from .serving import CONFIGMAPS, JOBS, PODS, YAML, Server, config, job, pod


async def test_a_new_object_gets_what_only_the_server_gives(server: Server) -> None:
    sent = config()
    sent["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "x", "generation": 7}
    made = (await server.ok("POST", CONFIGMAPS, sent))["metadata"]
    assert made["uid"].startswith("00000000-")
    assert (made["creationTimestamp"], made["namespace"]) == ("2026-01-01T12:00:00Z", "default")
    assert "selfLink" not in made


async def test_a_name_is_taken_once(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    answer = await server.call("POST", CONFIGMAPS, config())
    assert (answer.code, answer.message) == (409, 'configmaps "a" already exists')


async def test_names_are_generated(server: Server) -> None:
    sent = {"metadata": {"generateName": "a-"}}
    names = [(await server.ok("POST", CONFIGMAPS, sent))["metadata"]["name"] for _ in range(2)]
    assert names == ["a-x0001", "a-x0002"]


async def test_a_generated_name_that_is_taken_is_generated_again(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config("a-x0001"))
    made = await server.ok("POST", CONFIGMAPS, {"metadata": {"generateName": "a-"}})
    assert made["metadata"]["name"] == "a-x0002"


async def test_generating_names_is_given_up(server: Server) -> None:
    server.services.suffix = lambda: "same"
    await server.ok("POST", CONFIGMAPS, config("a-same"))
    answer = await server.call("POST", CONFIGMAPS, {"metadata": {"generateName": "a-"}})
    assert (answer.code, answer.message) == (409, 'configmaps "a-same" already exists')


async def test_a_dry_run_changes_nothing(server: Server) -> None:
    before = server.store.version
    made = await server.ok("POST", f"{CONFIGMAPS}?dryRun=All", config())
    assert ("uid" in made["metadata"], "resourceVersion" in made["metadata"]) == (True, False)
    assert (server.store.version, (await server.call("GET", f"{CONFIGMAPS}/a")).code) == (before, 404)


@pytest.mark.parametrize(("directive", "code"), [("Strict", 400), ("Warn", 201), ("", 201), ("Ignore", 201)])
async def test_unknown_fields_are_refused_told_or_ignored(server: Server, directive: str, code: int) -> None:
    answer = await server.call("POST", f"{JOBS}?fieldValidation={directive}", job(colour="red"))
    assert answer.code == code
    assert answer.warnings == (['unknown field "spec.colour"'] if directive in ("Warn", "") else [])


async def test_strict_validation_names_all_fields(server: Server) -> None:
    body = b'{"metadata": {"name": "a"}, "dta": {}, "data": {"x": "1", "x": "2"}}'
    answer = await server.call("POST", f"{CONFIGMAPS}?fieldValidation=Strict", body)
    why = 'strict decoding error: unknown field "dta", duplicate field "data.x"'
    assert answer.message == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {why}'


async def test_yaml_is_read(server: Server) -> None:
    made = await server.ok("POST", CONFIGMAPS, b"metadata:\n  name: a\ndata: {n: 'x'}\n", media=YAML)
    assert made["data"] == {"false": "x"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "the object provided is unrecognized (must be of type ConfigMap)"),
        (b"{", "unexpected end of JSON input"),
        (b"[]", "cannot unmarshal array into Go value"),
        (b'{"kind": "Secret", "apiVersion": "v1"}', 'Secret in version "v1" cannot be handled as a ConfigMap'),
        (b'{"kind": "Nothing", "apiVersion": "x/v1"}', 'no kind "Nothing" is registered for version "x/v1"'),
        (
            b'{"metadata": {"name": 5}}',
            "cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
        ),
    ],
)
async def test_bodies_that_cannot_be_read(server: Server, body: bytes, text: str) -> None:
    answer = await server.call("POST", CONFIGMAPS, body)
    assert (answer.code, text in answer.message) == (400, True), answer.message


async def test_an_invalid_object_is_refused_with_all_reasons(server: Server) -> None:
    answer = await server.call("POST", JOBS, job("A", parallelism=-1))
    assert (answer.code, answer.reason) == (422, "Invalid")
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == ["metadata.name", "spec.parallelism"]


async def test_another_namespace_in_the_body_is_refused(server: Server) -> None:
    sent = config()
    sent["metadata"]["namespace"] = "other"
    answer = await server.call("POST", CONFIGMAPS, sent)
    text = "the namespace of the provided object does not match the namespace sent on the request"
    assert (answer.code, answer.message) == (400, text)


async def test_a_version_of_a_new_object_is_refused(server: Server) -> None:
    sent = config()
    sent["metadata"]["resourceVersion"] = "5"
    answer = await server.call("POST", CONFIGMAPS, sent)
    assert (answer.code, answer.message) == (500, "resourceVersion should not be set on objects to be created")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("dryRun=all", 'dryRun: Unsupported value: ["all"]: supported values: "All"'),
        ("fieldValidation=x", 'fieldValidation: Unsupported value: "x"'),
        ("fieldManager=" + "x" * 129, "fieldManager: Too long: may not be more than 128 bytes"),
    ],
)
async def test_wrong_options_of_a_create(server: Server, query: str, text: str) -> None:
    answer = await server.call("POST", f"{CONFIGMAPS}?{query}", config())
    assert (answer.code, text in answer.message) == (422, True), answer.message


async def test_the_manager_of_the_fields_is_who_asks(server: Server) -> None:
    made = await server.ok("POST", CONFIGMAPS, config(k="v"), headers={"User-Agent": "kubectl/v1.35.4 (linux)"})
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("kubectl", "Update")
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:k": {}}}


async def test_owners_are_named_once(server: Server) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    sent = config()
    sent["metadata"]["ownerReferences"] = [owner, {**owner, "uid": "v"}, owner]
    answer = await server.call("POST", CONFIGMAPS, sent)
    assert [reference["uid"] for reference in answer.body["metadata"]["ownerReferences"]] == ["u", "v"]
    assert answer.warnings[0].endswith("duplicate UID(s) observed: u")


async def test_a_refused_pod_is_warned_of_its_old_annotations_too(server: Server) -> None:
    key = "container.apparmor.security.beta.kubernetes.io/main"
    body = pod()
    body["metadata"]["annotations"] = {key: "bad"}
    answer = await server.call("POST", PODS, body)
    text = f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    assert (answer.code, answer.warnings) == (422, [text])
