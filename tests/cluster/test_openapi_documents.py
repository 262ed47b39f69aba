"""Whole OpenAPI documents: which requests they show, and that they hold together."""

from __future__ import annotations

import pytest

from jobrelay.cluster.apiserver.openapi.cache import DocumentIndex, document_scopes
from jobrelay.cluster.apiserver.openapi.documents import DocumentScope, document_v2, document_v3
from jobrelay.cluster.apiserver.resources import ResourceTable
from tests.cluster.openapi_tools import Obj, all_references, part, with_gizmos

JOBS = "/apis/batch/v1/namespaces/{namespace}/jobs"
METHODS = {"get", "put", "post", "delete", "options", "head", "patch"}


@pytest.fixture(scope="module")
def resources() -> ResourceTable:
    return with_gizmos(ResourceTable())


@pytest.fixture(scope="module")
def batch(resources: ResourceTable) -> Obj:
    return document_v3(part(resources, "batch", "v1"))


@pytest.fixture(scope="module")
def core(resources: ResourceTable) -> Obj:
    return document_v3(part(resources, "", "v1"))


@pytest.fixture(scope="module")
def custom(resources: ResourceTable) -> Obj:
    return document_v3(part(resources, "example.com", "v1"))


@pytest.fixture(scope="module")
def swagger(resources: ResourceTable) -> Obj:
    return document_v2(document_scopes(resources))


def names(parameters: list[Obj]) -> list[str]:
    return [parameter["name"] for parameter in parameters]


def test_every_reference_has_its_schema(core: Obj, batch: Obj, custom: Obj) -> None:
    for document in (core, batch, custom):
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert all_references(document) == known


def test_every_reference_of_version_2_is_there(swagger: Obj) -> None:
    known = {f"#/definitions/{name}" for name in swagger["definitions"]}
    known |= {f"#/parameters/{name}" for name in swagger["parameters"]}
    assert all_references(swagger) == known


def test_operations_have_names_of_their_own(swagger: Obj) -> None:
    ids = [op["operationId"] for item in swagger["paths"].values() for method, op in item.items() if method in METHODS]
    assert len(ids) == len(set(ids)) > 800


def test_the_paths_of_a_resource(batch: Obj) -> None:
    methods = {path: set(item) & METHODS for path, item in batch["paths"].items()}
    assert methods[JOBS] == {"get", "post", "delete"}
    assert methods[JOBS + "/{name}"] == {"get", "put", "delete", "patch"}
    assert methods[JOBS + "/{name}/status"] == {"get", "put", "patch"}
    assert methods["/apis/batch/v1/jobs"] == methods["/apis/batch/v1/watch/jobs"] == {"get"}


def test_kubectl_finds_that_the_server_validates_fields(batch: Obj) -> None:
    patch = batch["paths"][JOBS + "/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "batch", "version": "v1", "kind": "Job"}
    assert names(patch["parameters"]) == ["dryRun", "fieldManager", "fieldValidation", "force"]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_parameters_of_all_methods_stand_at_the_path(batch: Obj) -> None:
    assert names(batch["paths"][JOBS + "/{name}"]["parameters"]) == ["name", "namespace", "pretty"]
    assert "watch" in names(batch["paths"]["/apis/batch/v1/jobs"]["parameters"])


@pytest.mark.parametrize(
    ("path", "method", "operation"),
    [
        ("/api/v1/namespaces/{namespace}/pods/{name}/log", "get", "readCoreV1NamespacedPodLog"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post", "createCoreV1NamespacedPodEviction"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/exec", "post", "connectCoreV1PostNamespacedPodExec"),
        ("/api/v1/nodes/{name}/proxy/{path}", "head", "connectCoreV1HeadNodeProxyWithPath"),
        ("/api/v1/namespaces/{name}/finalize", "put", "replaceCoreV1NamespaceFinalize"),
        ("/api/v1/watch/nodes/{name}", "get", "watchCoreV1Node"),
        ("/api/v1/pods", "get", "listCoreV1PodForAllNamespaces"),
        ("/api/v1/namespaces/{namespace}/pods", "delete", "deleteCoreV1CollectionNamespacedPod"),
    ],
)
def test_names_of_operations(core: Obj, path: str, method: str, operation: str) -> None:
    assert core["paths"][path][method]["operationId"] == operation


@pytest.mark.parametrize(("plural", "text"), [("events", "create an Event"), ("endpoints", "create Endpoints")])
def test_articles(core: Obj, plural: str, text: str) -> None:
    assert core["paths"][f"/api/v1/namespaces/{{namespace}}/{plural}"]["post"]["description"] == text


def test_deleted_pods_are_answered_with_the_pod(core: Obj) -> None:
    delete = core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["delete"]
    answer = delete["responses"]["202"]["content"]["application/json"]["schema"]["$ref"]
    assert answer.endswith("io.k8s.api.core.v1.Pod")


def test_subresources_show_the_kind_that_they_take(core: Obj) -> None:
    eviction = core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
    assert eviction["x-kubernetes-group-version-kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}


def test_custom_resources_have_schemas_and_requests(custom: Obj) -> None:
    schema = custom["components"]["schemas"]["com.example.v1.Gizmo"]
    assert schema["properties"]["spec"]["properties"]["size"] == {"type": "integer", "default": 1}
    item = custom["paths"]["/apis/example.com/v1/namespaces/{namespace}/gizmos/{name}"]
    assert set(item["patch"]["requestBody"]["content"]) == {
        "application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml",
    }  # fmt: skip
    assert item["patch"]["operationId"] == "patchExampleComV1NamespacedGizmo"


def test_custom_resources_are_in_version_2(swagger: Obj) -> None:
    assert "default" not in swagger["definitions"]["com.example.v1.Gizmo"]["properties"]["spec"]["properties"]["size"]
    assert "com.example.v1.GizmoList" in swagger["definitions"]


def test_scales_of_custom_resources_are_of_their_kind(custom: Obj) -> None:
    scale = custom["paths"]["/apis/example.com/v1/namespaces/{namespace}/gizmos/{name}/scale"]["get"]
    assert scale["x-kubernetes-group-version-kind"]["kind"] == "Gizmo"
    assert scale["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("autoscaling.v1.Scale")


def test_groups_have_a_document(resources: ResourceTable) -> None:
    document = document_v3(DocumentScope("apis/rbac.authorization.k8s.io", "rbac.authorization.k8s.io"))
    get = document["paths"]["/apis/rbac.authorization.k8s.io/"]["get"]
    assert (get["operationId"], get["tags"]) == ("getRbacAuthorizationAPIGroup", ["rbacAuthorization"])


def test_what_kubectl_checks_first_is_not_shared(swagger: Obj) -> None:
    parameters = swagger["paths"][JOBS]["post"]["parameters"]
    assert [p["name"] for p in parameters if "name" in p] == ["body", "dryRun", "fieldValidation"]
    assert [p["$ref"].partition("-")[0] for p in parameters if "$ref" in p] == ["#/parameters/fieldManager"]


def test_the_index_lists_what_there_is(resources: ResourceTable) -> None:
    index = DocumentIndex(resources)
    for path in (
        "api",
        "apis",
        "version",
        "openid/v1/jwks",
        "api/v1",
        "apis/batch",
        "apis/batch/v1",
        "apis/example.com/v1",
    ):
        assert index.v3(path) is not None, path
    assert index.v3("apis/example.com") is None
