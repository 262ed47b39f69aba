"""Behaviour of the smaller groups that single answers do not show: switches, selectors, times."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from jobrelay.apimachinery.field import Path
from jobrelay.kinds import registry
from jobrelay.kinds.admissionregistration.urls import validate_url_path, validate_webhook_url
from jobrelay.kinds.context import RequestContext, current

GROUPS = (
    "storage.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "admissionregistration.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "apiregistration.k8s.io",
)
ROWS = [row for row in registry.resources() if row["group"] in GROUPS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["plural"])
def test_every_kind_has_rules_of_its_own_and_hooks_for_its_status(row: dict[str, Any]) -> None:
    strategy = registry.strategy(row["group"], row["plural"])
    served = {sub["name"] for sub in row["subresources"]}
    assert strategy is not registry.strategy("example.com", "widgets")
    assert set(strategy.subresources) == served


def test_only_runtime_classes_can_be_created_by_an_update() -> None:
    found = [row["plural"] for row in ROWS if registry.strategy(row["group"], row["plural"]).create_on_update]
    assert found == ["runtimeclasses"]


def test_a_delete_answers_with_the_object_for_devices_and_most_storage_kinds() -> None:
    found = {row["plural"] for row in ROWS if registry.strategy(row["group"], row["plural"]).delete_returns_object}
    devices = {"deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"}
    storage = {"csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"}
    assert found == devices | storage


def test_resource_slices_are_selected_by_node_and_driver() -> None:
    strategy = registry.strategy("resource.k8s.io", "resourceslices")
    fields = strategy.fields({"metadata": {"name": "a"}, "spec": {"driver": "d", "nodeName": "n"}})
    assert (fields["spec.driver"], fields["spec.nodeName"]) == ("d", "n")
    assert strategy.unsupported_field is not None
    text = strategy.unsupported_field("spec.foo", "ResourceSlice")
    assert text == "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.foo"


def test_a_local_api_service_is_available_at_once() -> None:
    token = current.set(RequestContext(time=dt.datetime(2024, 1, 1, tzinfo=dt.UTC)))
    service: dict[str, Any] = {"metadata": {}, "spec": {}}
    registry.strategy("apiregistration.k8s.io", "apiservices").prepare_create(service)
    current.reset(token)
    (condition,) = service["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")
    assert condition["lastTransitionTime"] == "2024-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://h/p", ""),
        ("http://h", "'https' is the only allowed URL scheme; desired format: https://host[/path]"),
        ("https://u:p@h", "user information is not permitted in the URL"),
        ("https://h#f", "fragments are not permitted in the URL"),
        ("https://h?q", "query parameters are not permitted in the URL"),
        (
            "https://h:x",
            'url must be a valid URL: parse "https://h:x": invalid port ":x" after host; '
            "desired format: https://host[/path]",
        ),
    ],
)
def test_webhook_urls(url: str, text: str) -> None:
    assert [error.detail for error in validate_webhook_url(url, Path("url"))] == ([text] if text else [])


@pytest.mark.parametrize(
    ("path", "count"), [("", 0), ("/", 0), ("/a/b/", 0), ("//", 1), ("a", 2), ("/a//b", 1), ("/A", 1)]
)
def test_webhook_paths(path: str, count: int) -> None:
    found = validate_url_path(path, Path("path"))
    assert len(found) == count
