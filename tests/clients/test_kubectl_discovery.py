"""kubectl finds out what the cluster serves, and explains it."""

from __future__ import annotations

import json

import pytest

from .kubectl import Kubectl

pytestmark = pytest.mark.kubectl


def test_api_resources_show_names_groups_and_kinds(admin: Kubectl) -> None:
    lines = [line.split() for line in admin("api-resources").splitlines()]
    assert ["pods", "po", "v1", "true", "Pod"] in lines
    assert ["cronjobs", "cj", "batch/v1", "true", "CronJob"] in lines
    assert [
        "customresourcedefinitions",
        "crd,crds",
        "apiextensions.k8s.io/v1",
        "false",
        "CustomResourceDefinition",
    ] in lines


@pytest.mark.parametrize(
    ("selection", "there", "missing"),
    [
        (["--namespaced=false"], "namespaces", "pods"),
        (["--api-group=batch"], "jobs.batch", "pods"),
        (["--verbs=deletecollection,watch"], "pods", "bindings"),
        (["--categories=all"], "jobs.batch", "secrets"),
    ],
)
def test_api_resources_are_selected(admin: Kubectl, selection: list[str], there: str, missing: str) -> None:
    names = admin("api-resources", "-o", "name", *selection).split()
    assert there in names
    assert missing not in names


def test_api_resources_in_wide_form_show_verbs_and_categories(admin: Kubectl) -> None:
    pods = next(line for line in admin("api-resources", "-o", "wide").splitlines() if line.startswith("pods "))
    assert pods.split()[-2:] == ["create,delete,deletecollection,get,list,patch,update,watch", "all"]


def test_api_versions_list_every_group(admin: Kubectl) -> None:
    versions = admin("api-versions").split()
    assert {"v1", "batch/v1", "apps/v1", "rbac.authorization.k8s.io/v1", "coordination.k8s.io/v1"} <= set(versions)
    assert versions == sorted(versions)


def test_version_tells_both_sides(admin: Kubectl) -> None:
    answer = json.loads(admin("version", "-o", "json"))
    assert answer["serverVersion"]["gitVersion"].startswith("v1.35.")
    assert answer["clientVersion"]["major"] == "1"


def test_cluster_info_names_the_address(admin: Kubectl) -> None:
    assert "is running at https://127.0.0.1:" in admin("cluster-info")


def test_cluster_info_dumps_namespaces(kubectl: Kubectl) -> None:
    dumped = kubectl("cluster-info", "dump", "--namespaces", kubectl.namespace)
    assert '"kind": "EventList"' in dumped
    assert '"kind": "PodList"' in dumped


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_raw_health(admin: Kubectl, path: str) -> None:
    assert admin("get", "--raw", path) == "ok"


def test_raw_lists_are_json(admin: Kubectl) -> None:
    assert json.loads(admin("get", "--raw", "/api/v1/namespaces?limit=1"))["kind"] == "NamespaceList"


def test_raw_health_in_words(admin: Kubectl) -> None:
    assert admin("get", "--raw", "/readyz?verbose").rstrip().endswith("readyz check passed")


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("job.spec.managedBy", ["GROUP:      batch", "KIND:       Job", "FIELD: managedBy <string>"]),
        ("job.spec", ["FIELD: spec <JobSpec>", "template\t<PodTemplateSpec> -required-"]),
        ("pod", ["KIND:       Pod", "spec\t<PodSpec>", "metadata\t<ObjectMeta>"]),
        ("pod.spec.containers.ports.protocol", ["FIELD: protocol <string>", "ENUM:", "SCTP"]),
        ("deploy.spec.strategy", ["GROUP:      apps", "rollingUpdate\t<RollingUpdateDeployment>"]),
        ("crd.spec.versions", ["FIELD: versions <[]CustomResourceDefinitionVersion>"]),
    ],
)
def test_explain_shows_types(admin: Kubectl, field: str, told: list[str]) -> None:
    text = admin("explain", field)
    for words in told:
        assert words in text


def test_explain_describes_fields(admin: Kubectl) -> None:
    _, _, description = admin("explain", "job.spec.managedBy").partition("DESCRIPTION:\n")
    assert len(description.split()) > 5


def test_explain_recursively(admin: Kubectl) -> None:
    text = admin("explain", "job", "--recursive")
    assert "      podFailurePolicy\t<PodFailurePolicy>" in text or "    podFailurePolicy\t<PodFailurePolicy>" in text
    assert "maxUnavailable" not in text


def test_explain_another_version(admin: Kubectl) -> None:
    assert "VERSION:    v2" in admin("explain", "hpa.spec.metrics", "--api-version=autoscaling/v2")


def test_explain_of_an_unknown_field(admin: Kubectl) -> None:
    assert 'field "colour" does not exist' in admin.error("explain", "job.spec.colour")


def test_an_unknown_kind_is_told(admin: Kubectl) -> None:
    assert 'the server doesn\'t have a resource type "gadgets"' in admin.error("get", "gadgets")
