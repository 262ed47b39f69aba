"""The schemas of the built-in kinds, as both versions of OpenAPI publish them."""

from __future__ import annotations

import pytest

from jobrelay.cluster.apiserver.openapi.definitions import META, Definitions

BATCH = "io.k8s.api.batch.v1."
CORE = "io.k8s.api.core.v1."


@pytest.fixture(scope="module")
def definitions() -> Definitions:
    return Definitions()


def test_types_are_not_nullable(definitions: Definitions) -> None:
    job = definitions.v2(BATCH + "JobSpec")
    assert job["type"] == "object"
    assert job["properties"]["parallelism"]["type"] == "integer"


def test_descriptions_are_there(definitions: Definitions) -> None:
    text = definitions.v3(BATCH + "JobSpec")["properties"]["managedBy"]["description"]
    assert text.startswith("ManagedBy field indicates the controller that manages a Job.")


def test_kind_and_version_are_not_enumerated(definitions: Definitions) -> None:
    assert "enum" not in definitions.v2(BATCH + "Job")["properties"]["kind"]


def test_references_of_version_2_stand_beside_their_descriptions(definitions: Definitions) -> None:
    template = definitions.v2(BATCH + "JobSpec")["properties"]["template"]
    assert template["$ref"] == f"#/definitions/{CORE}PodTemplateSpec"
    assert template["description"]


def test_references_of_version_3_are_wrapped_and_have_a_default(definitions: Definitions) -> None:
    template = definitions.v3(BATCH + "JobSpec")["properties"]["template"]
    assert template["allOf"] == [{"$ref": f"#/components/schemas/{CORE}PodTemplateSpec"}]
    assert template["default"] == {}
    assert "$ref" not in template


@pytest.mark.parametrize(
    ("name", "field", "default"),
    [
        (CORE + "Container", "name", ""),
        (CORE + "ContainerPort", "protocol", "TCP"),
        (CORE + "ContainerPort", "containerPort", 0),
        (CORE + "AzureDiskVolumeSource", "readOnly", False),
        (CORE + "LocalObjectReference", "name", ""),
        ("io.k8s.apimachinery.pkg.version.Info", "major", ""),
    ],
)
def test_defaults(definitions: Definitions, name: str, field: str, default: object) -> None:
    assert definitions.v3(name)["properties"][field]["default"] == default
    assert "default" not in definitions.v2(name)["properties"][field]


@pytest.mark.parametrize(("name", "field"), [(CORE + "Container", "image"), (META + "ObjectMeta", "creationTimestamp")])
def test_optional_fields_and_times_have_no_default(definitions: Definitions, name: str, field: str) -> None:
    assert "default" not in definitions.v3(name)["properties"][field]


def test_elements_have_defaults(definitions: Definitions) -> None:
    container = definitions.v3(CORE + "Container")["properties"]
    assert container["args"]["items"] == {"type": "string", "default": ""}
    assert container["env"]["items"]["default"] == {}


def test_enumerations_list_their_values(definitions: Definitions) -> None:
    mode = definitions.v2(BATCH + "JobSpec")["properties"]["completionMode"]
    assert mode["enum"] == ["Indexed", "NonIndexed"]
    assert mode["description"].endswith('Possible enum values:\n - `"Indexed"`\n - `"NonIndexed"`')


def test_elements_may_be_enumerated(definitions: Definitions) -> None:
    modes = definitions.v2(CORE + "PersistentVolumeClaimSpec")["properties"]["accessModes"]
    assert "ReadWriteOnce" in modes["items"]["enum"]


def test_int_or_string(definitions: Definitions) -> None:
    name = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
    assert definitions.v2(name)["type"] == "string"
    assert definitions.v2(name)["format"] == "int-or-string"
    assert definitions.v3(name)["oneOf"] == [{"type": "integer"}, {"type": "string"}]
    assert "type" not in definitions.v3(name)


def test_list_types_are_kept(definitions: Definitions) -> None:
    containers = definitions.v3(CORE + "PodSpec")["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"


def test_custom_documents_show_fewer_groups(definitions: Definitions) -> None:
    def groups(*, custom: bool) -> set[str]:
        shown = definitions.v3(META + "DeleteOptions", custom=custom)["x-kubernetes-group-version-kind"]
        return {kind["group"] for kind in shown}

    assert "apiextensions.k8s.io" in groups(custom=False)
    assert "apiextensions.k8s.io" not in groups(custom=True)
