"""The official Python client: typed objects, patches, watches, pages, apply, statuses, tokens."""

from __future__ import annotations

import base64
import json
import threading
from typing import Any

import pytest
from kubernetes import client, watch
from kubernetes.client import ApiClient
from kubernetes.client.exceptions import ApiException

from .objects import config_map, job, pod

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


@pytest.fixture
def core(api: ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


@pytest.fixture
def batch(api: ApiClient) -> client.BatchV1Api:
    return client.BatchV1Api(api)


def test_a_job_of_typed_objects(batch: client.BatchV1Api, namespace: str) -> None:
    container = client.V1Container(name="main", image="busybox", command=["true"])
    template = client.V1PodTemplateSpec(spec=client.V1PodSpec(containers=[container], restart_policy="Never"))
    wanted = client.V1Job(
        metadata=client.V1ObjectMeta(generate_name="j-"), spec=client.V1JobSpec(template=template, suspend=True)
    )
    made = batch.create_namespaced_job(namespace, wanted)
    found = batch.read_namespaced_job(made.metadata.name, namespace)
    assert found.metadata.uid == made.metadata.uid
    assert (found.spec.backoff_limit, found.spec.completion_mode) == (6, "NonIndexed")


def test_replace_with_an_old_version_conflicts(core: client.CoreV1Api, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, config_map("a"))
    made.data = {"colour": "blue"}
    assert core.replace_namespaced_config_map("a", namespace, made).data == {"colour": "blue"}
    with pytest.raises(ApiException) as raised:
        core.replace_namespaced_config_map("a", namespace, made)
    assert (raised.value.status, json.loads(raised.value.body)["reason"]) == (409, "Conflict")


def test_errors_carry_a_status(batch: client.BatchV1Api, namespace: str) -> None:
    with pytest.raises(ApiException) as raised:
        batch.create_namespaced_job(namespace, job("j", parallelism=-1))
    told = json.loads(raised.value.body)
    assert (raised.value.status, told["kind"], told["reason"]) == (422, "Status", "Invalid")
    assert told["details"]["causes"][0]["field"] == "spec.parallelism"


@pytest.mark.parametrize(
    ("media", "body"),
    [
        (JSON_PATCH, [{"op": "replace", "path": "/data/colour", "value": "blue"}]),
        (MERGE_PATCH, {"data": {"colour": "blue"}}),
        (STRATEGIC_PATCH, {"data": {"colour": "blue"}}),
    ],
)
def test_patches(core: client.CoreV1Api, namespace: str, media: str, body: Any) -> None:
    core.create_namespaced_config_map(namespace, config_map("a"))
    patched = core.patch_namespaced_config_map("a", namespace, body, _content_type=media)
    assert patched.data == {"colour": "blue"}


def test_server_side_apply(core: client.CoreV1Api, namespace: str) -> None:
    def apply(value: str, **options: Any) -> Any:
        body = config_map("a", {"colour": value})
        return core.patch_namespaced_config_map("a", namespace, body, _content_type=APPLY, **options)

    apply("red", field_manager="one")
    with pytest.raises(ApiException) as raised:
        apply("blue", field_manager="two")
    assert json.loads(raised.value.body)["details"]["causes"][0]["field"] == ".data.colour"
    assert apply("blue", field_manager="two", force=True).data == {"colour": "blue"}


def test_a_dry_run_stores_nothing(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, config_map("a"), dry_run="All")
    with pytest.raises(ApiException) as raised:
        core.read_namespaced_config_map("a", namespace)
    assert raised.value.status == 404


def test_pages(core: client.CoreV1Api, namespace: str) -> None:
    for number in range(5):
        core.create_namespaced_secret(namespace, {"metadata": {"name": f"s{number}"}})
    first = core.list_namespaced_secret(namespace, limit=2)
    assert first.metadata.remaining_item_count == 3
    second = core.list_namespaced_secret(namespace, limit=9, _continue=first.metadata._continue)
    names = [item.metadata.name for item in [*first.items, *second.items]]
    assert names == [f"s{number}" for number in range(5)]
    assert second.metadata.resource_version == first.metadata.resource_version


def test_selectors(core: client.CoreV1Api, namespace: str) -> None:
    for name in "ab":
        core.create_namespaced_pod(namespace, pod(name))
    by_label = core.list_namespaced_pod(namespace, label_selector="app in (a)")
    by_field = core.list_namespaced_pod(namespace, field_selector="metadata.name=b,status.phase=Pending")
    assert [item.metadata.name for item in [*by_label.items, *by_field.items]] == ["a", "b"]


def test_watch_from_a_version(core: client.CoreV1Api, namespace: str) -> None:
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("a"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"colour": "blue"}})
    core.delete_namespaced_config_map("a", namespace)
    watching = watch.Watch()
    seen = []
    selector = "metadata.name=a"
    for event in watching.stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=version,
        field_selector=selector,
        timeout_seconds=30,
    ):
        seen.append((event["type"], event["object"].data["colour"]))
        if len(seen) == 3:
            watching.stop()
    assert seen == [("ADDED", "red"), ("MODIFIED", "blue"), ("DELETED", "blue")]


def test_watch_ends_after_its_time(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, config_map("a"))
    events = watch.Watch().stream(
        core.list_namespaced_config_map, namespace, field_selector="metadata.name=a", timeout_seconds=1
    )
    assert [event["type"] for event in events] == ["ADDED"]


def test_status_is_replaced_alone(core: client.CoreV1Api, namespace: str) -> None:
    made = core.create_namespaced_pod(namespace, pod("p"))
    made.status = client.V1PodStatus(phase="Running", pod_ip="10.1.2.3")
    made.spec.containers[0].image = "ignored"
    changed = core.replace_namespaced_pod_status("p", namespace, made)
    assert (changed.status.phase, changed.spec.containers[0].image) == ("Running", "busybox")


def test_rules_of_a_job_status(batch: client.BatchV1Api, namespace: str) -> None:
    batch.create_namespaced_job(namespace, job("j", suspend=True, managedBy="example.com/tests"))
    with pytest.raises(ApiException) as raised:
        batch.patch_namespaced_job_status("j", namespace, {"status": {"succeeded": -1}})
    assert "status.succeeded" in json.loads(raised.value.body)["message"]
    patched = batch.patch_namespaced_job_status(
        "j", namespace, {"status": {"active": 1, "startTime": "2025-01-01T00:00:00Z"}}
    )
    assert patched.status.active == 1


def test_scale(api: ApiClient, namespace: str) -> None:
    apps = client.AppsV1Api(api)
    spec = {"containers": [{"name": "web", "image": "nginx"}]}
    labels = {"app": "web"}
    body = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}
    apps.create_namespaced_deployment(namespace, {"metadata": {"name": "web"}, "spec": body})
    scale = apps.read_namespaced_deployment_scale("web", namespace)
    scale.spec.replicas = 4
    assert apps.replace_namespaced_deployment_scale("web", namespace, scale).spec.replicas == 4


def test_deletes(batch: client.BatchV1Api, namespace: str) -> None:
    for name in "abc":
        batch.create_namespaced_job(namespace, job(name))
    options = client.V1DeleteOptions(propagation_policy="Background")
    batch.delete_namespaced_job("a", namespace, body=options)
    batch.delete_collection_namespaced_job(
        namespace, propagation_policy="Background", field_selector="metadata.name!=b"
    )
    assert [item.metadata.name for item in batch.list_namespaced_job(namespace).items] == ["b"]


def test_delete_only_a_certain_object(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, config_map("a"))
    with pytest.raises(ApiException) as raised:
        core.delete_namespaced_config_map("a", namespace, body={"preconditions": {"uid": "another"}})
    assert raised.value.status == 409


def test_finalizers(core: client.CoreV1Api, namespace: str) -> None:
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    core.create_namespaced_config_map(namespace, held)
    core.delete_namespaced_config_map("a", namespace)
    assert core.read_namespaced_config_map("a", namespace).metadata.deletion_timestamp is not None
    core.patch_namespaced_config_map("a", namespace, {"metadata": {"finalizers": None}}, _content_type=MERGE_PATCH)
    with pytest.raises(ApiException) as raised:
        core.read_namespaced_config_map("a", namespace)
    assert raised.value.status == 404


def test_namespaces(core: client.CoreV1Api, namespace: str) -> None:
    found = core.read_namespace(namespace)
    assert (found.status.phase, found.spec.finalizers) == ("Active", ["kubernetes"])
    assert found.metadata.labels == {"kubernetes.io/metadata.name": namespace}


def test_eviction_and_binding(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_pod(namespace, pod("p"))
    target = client.V1ObjectReference(kind="Node", name="somewhere")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=target)
    core.create_namespaced_pod_binding("p", namespace, binding, _preload_content=False)
    assert core.read_namespaced_pod("p", namespace).spec.node_name == "somewhere"
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="p"))
    core.create_namespaced_pod_eviction("p", namespace, eviction, _preload_content=False)
    assert core.read_namespaced_pod("p", namespace).metadata.deletion_grace_period_seconds == 30


def test_logs_of_a_pod_without_a_node(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_pod(namespace, pod("p"))
    assert not core.read_namespaced_pod_log("p", namespace, container="main")


def test_a_token_works_as_its_account(api: ApiClient, core: client.CoreV1Api, namespace: str) -> None:
    wanted = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=600))
    token = core.create_namespaced_service_account_token("default", namespace, wanted).status.token
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert claims["sub"] == f"system:serviceaccount:{namespace}:default"
    review = client.AuthenticationV1Api(api).create_token_review({"spec": {"token": token}})
    assert review.status.user.username == claims["sub"]


def test_access_reviews(api: ApiClient, namespace: str) -> None:
    reviews = client.AuthorizationV1Api(api)
    asked = {"verb": "list", "resource": "pods", "namespace": namespace}
    own = reviews.create_self_subject_access_review({"spec": {"resourceAttributes": asked}})
    other = reviews.create_subject_access_review({"spec": {"user": "nobody", "resourceAttributes": asked}})
    assert (own.status.allowed, other.status.allowed) == (True, False)


def test_leases_keep_microseconds(api: ApiClient, namespace: str) -> None:
    leases = client.CoordinationV1Api(api)
    spec = {"holderIdentity": "me", "renewTime": "2025-01-01T00:00:00.123456Z", "leaseDurationSeconds": 15}
    leases.create_namespaced_lease(namespace, {"metadata": {"name": "l"}, "spec": spec})
    assert leases.read_namespaced_lease("l", namespace).spec.renew_time.microsecond == 123456


def test_versions_and_groups(api: ApiClient) -> None:
    assert client.VersionApi(api).get_code().major == "1"
    groups = client.ApisApi(api).get_api_versions().groups
    assert {"batch", "apps", "apiextensions.k8s.io"} <= {group.name for group in groups}
    resources = client.BatchV1Api(api).get_api_resources().resources
    assert {"jobs", "jobs/status", "cronjobs"} <= {resource.name for resource in resources}


def test_many_writers_of_one_object_all_get_through(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, config_map("a", {"count": "0"}))

    def add_one() -> None:
        while True:
            found = core.read_namespaced_config_map("a", namespace)
            found.data["count"] = str(int(found.data["count"]) + 1)
            try:
                core.replace_namespaced_config_map("a", namespace, found)
                return
            except ApiException as error:
                if error.status != 409:
                    raise

    writers = [threading.Thread(target=add_one) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert core.read_namespaced_config_map("a", namespace).data == {"count": "4"}
