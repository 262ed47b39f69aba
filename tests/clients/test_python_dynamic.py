"""The official Python client without types: custom resources by discovery, plain custom objects, leader election."""

from __future__ import annotations

import pathlib
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config
from kubernetes.client import ApiClient
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from .objects import config_map, widgets


@pytest.fixture(scope="module")
def group(api: ApiClient) -> Iterator[str]:
    """The API group of a definition of widgets that is established."""
    definitions = client.ApiextensionsV1Api(api)
    group = f"g{uuid.uuid4().hex[:6]}.example.com"
    definitions.create_custom_resource_definition(widgets(group))
    while not _established(definitions.read_custom_resource_definition(f"widgets.{group}")):
        pass
    yield group
    definitions.delete_custom_resource_definition(f"widgets.{group}")


@pytest.fixture
def objects(api: ApiClient, group: str, tmp_path: pathlib.Path) -> Any:
    """The dynamic resource of widgets."""
    found = DynamicClient(api, cache_file=str(tmp_path / "discovery.json"))
    return found.resources.get(api_version=f"{group}/v1", kind="Widget")


def widget(group: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def test_dynamic_objects_get_defaults(objects: Any, group: str, namespace: str) -> None:
    assert objects.create(body=widget(group, "w"), namespace=namespace).spec.size == 1
    assert objects.get(name="w", namespace=namespace).metadata.generation == 1


def test_dynamic_lists_and_selections(objects: Any, group: str, namespace: str) -> None:
    for name, colour in {"a": "red", "b": "blue"}.items():
        objects.create(body=widget(group, name, colour=colour), namespace=namespace)
    found = objects.get(namespace=namespace, field_selector="spec.colour=blue")
    assert [item.metadata.name for item in found.items] == ["b"]


def test_dynamic_patch_and_delete(objects: Any, group: str, namespace: str) -> None:
    objects.create(body=widget(group, "w"), namespace=namespace)
    body = widget(group, "w", size=3)
    assert objects.patch(body=body, namespace=namespace, content_type="application/merge-patch+json").spec.size == 3
    assert objects.delete(name="w", namespace=namespace).status == "Success"


def test_dynamic_server_side_apply(objects: Any, group: str, namespace: str) -> None:
    made = objects.server_side_apply(
        body=widget(group, "w", size=2), name="w", namespace=namespace, field_manager="tests"
    )
    assert made.metadata.managedFields[0].manager == "tests"


def test_dynamic_status(objects: Any, group: str, namespace: str) -> None:
    made = objects.create(body=widget(group, "w"), namespace=namespace).to_dict()
    made["status"] = {"phase": "Up"}
    made["spec"] = {"size": 9}
    changed = objects.status.replace(body=made, namespace=namespace)
    assert (changed.status.phase, changed.spec.size) == ("Up", 1)


def test_dynamic_watch(objects: Any, group: str, namespace: str) -> None:
    objects.create(body=widget(group, "w"), namespace=namespace)
    events = objects.watch(namespace=namespace, timeout=1)
    assert [(event["type"], event["object"].spec.size) for event in events] == [("ADDED", 1)]


def test_dynamic_built_in_kinds(api: ApiClient, namespace: str, tmp_path: pathlib.Path) -> None:
    resources = DynamicClient(api, cache_file=str(tmp_path / "discovery.json")).resources
    maps = resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body=config_map("a"), namespace=namespace)
    assert maps.get(name="a", namespace=namespace).data.colour == "red"
    assert resources.get(kind="Job").group == "batch"


def test_custom_objects(api: ApiClient, group: str, namespace: str) -> None:
    custom = client.CustomObjectsApi(api)
    where = (group, "v1", namespace, "widgets")
    custom.create_namespaced_custom_object(*where, widget(group, "w"))
    custom.patch_namespaced_custom_object(*where, "w", {"spec": {"size": 4}})
    assert custom.get_namespaced_custom_object_scale(*where, "w")["spec"]["replicas"] == 4
    with pytest.raises(ApiException) as raised:
        custom.patch_namespaced_custom_object(*where, "w", {"spec": {"size": 100}})
    assert raised.value.status == 422


@pytest.mark.parametrize("lock", [ConfigMapLock, LeaseLock])
def test_leader_election(kubeconfig: pathlib.Path, namespace: str, lock: type[Any]) -> None:
    config.load_kube_config(str(kubeconfig))
    elections = [_election(lock("leader", namespace, who)) for who in ("one", "two")]
    assert elections[0].try_acquire_or_renew()
    assert not elections[1].try_acquire_or_renew()
    assert elections[0].try_acquire_or_renew()


def _election(lock: Any) -> leaderelection.LeaderElection:
    settings = electionconfig.Config(
        lock, lease_duration=15, renew_deadline=10, retry_period=2, onstarted_leading=print, onstopped_leading=print
    )
    return leaderelection.LeaderElection(settings)


def _established(definition: Any) -> bool:
    conditions = definition.status.conditions if definition.status else None
    return any(each.type == "Established" and each.status == "True" for each in conditions or [])
