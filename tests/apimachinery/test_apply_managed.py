"""managedFields of creates, updates and patches."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from jobrelay.apimachinery.apply import (
    built_in_schema,
    custom_schema,
    restore_times,
    to_parent,
    to_scale,
    update_managed_fields,
)
from jobrelay.apimachinery.apply.schema import Schema
from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.types import type_for_kind

NOW = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:04:06Z"
STATUS = (("status",),)


def schema(api_version: str, kind: str) -> Schema:
    found = built_in_schema(api_version, kind)
    assert found is not None
    return found


CONFIG_MAP = schema("v1", "ConfigMap")


def config_map(managed: list[Any] | None = None, **data: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "c", "namespace": "n", "uid": "u"}
    if managed is not None:
        metadata["managedFields"] = managed
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **({"data": data} if data else {})}


def entry(
    manager: str, fields: dict[str, Any], operation: str = "Update", time: str = NOW, **more: str
) -> dict[str, Any]:
    return {
        "manager": manager, "operation": operation, "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
        "fieldsV1": fields, **more,
    }  # fmt: skip


def data(*keys: str, whole: bool = False) -> dict[str, Any]:
    return {"f:data": {**({".": {}} if whole else {}), **{f"f:{key}": {} for key in keys}}}


def update(live: dict[str, Any] | None, new: dict[str, Any], manager: str = "m", **more: Any) -> list[Any] | None:
    options: dict[str, Any] = {"api_version": "v1", "now": LATER, "schema": CONFIG_MAP, **more}
    return update_managed_fields(live, new, manager=manager, **options)


def test_create_records_all_but_what_the_server_manages() -> None:
    assert update(None, config_map(a="1", b="2")) == [entry("m", data("a", "b", whole=True), time=LATER)]


def test_create_of_nothing_records_nothing() -> None:
    assert update(None, config_map()) is None


def test_create_of_a_deployment_names_list_elements_and_skips_structs() -> None:
    deployment = {
        "metadata": {"name": "d", "labels": {"a": "1"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "1"}},
            "strategy": {"rollingUpdate": {"maxSurge": 1}},
            "template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}},
        },
        "status": {"replicas": 1},
    }
    type_ = type_for_kind("apps/v1", "Deployment")
    assert type_ is not None
    made = update(
        None,
        decode(deployment, type_),
        api_version="apps/v1",
        schema=schema("apps/v1", "Deployment"),
        reset_fields=STATUS,
    )
    assert made is not None
    port: dict[str, Any] = {
        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}},
        ".": {},
    }
    container = {".": {}, "f:name": {}, "f:ports": port, "f:resources": {}}
    assert made[0]["fieldsV1"] == {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}},
            "f:template": {"f:spec": {"f:containers": {'k:{"name":"c"}': container}}},
        },
    }


def test_update_takes_changed_fields_from_their_owner() -> None:
    live = config_map([entry("one", data("a", "b", whole=True))], a="1", b="1")
    assert update(live, config_map(a="1", b="2"), "two") == [
        entry("one", data("a", whole=True)),
        entry("two", data("b"), time=LATER),
    ]


def test_update_forgets_removed_fields_and_empty_managers() -> None:
    live = config_map([entry("one", data("a", whole=True)), entry("two", data("b"))], a="1", b="1")
    assert update(live, config_map(a="1"), "three") == [entry("one", data("a", whole=True))]


def test_update_without_changes_keeps_the_time() -> None:
    managed = [entry("one", data("a", whole=True))]
    assert update(config_map(managed, a="1"), config_map(a="1"), "one") == managed


def test_update_joins_the_manager_with_its_earlier_fields() -> None:
    live = config_map([entry("one", data("a", whole=True))], a="1")
    assert update(live, config_map(a="1", b="1"), "one") == [entry("one", data("a", "b", whole=True), time=LATER)]


def test_applied_fields_are_lost_to_updates_too() -> None:
    live = config_map([entry("one", data("a"), "Apply")], a="1")
    assert update(live, config_map(a="2"), "one") == [entry("one", data("a"), time=LATER)]


@pytest.mark.parametrize(("given", "sent"), [(None, []), ([{}], None)])
def test_wiping_and_afterwards(given: list[Any] | None, sent: list[Any] | None) -> None:
    live = config_map([entry("one", data("a", whole=True))], a="1")
    assert update(live, config_map(given, a="2"), sent=sent) is None
    assert update(config_map(a="1"), config_map(a="2")) is None


def test_an_empty_list_does_not_wipe_custom_resources() -> None:
    things = custom_schema({"type": "object"}, "g/v1", "Thing")
    managed = [{**entry("one", {"f:spec": {}}), "apiVersion": "g/v1"}]
    live = {"apiVersion": "g/v1", "kind": "Thing", "metadata": {"uid": "u", "managedFields": managed}}
    new = {**live, "metadata": {"uid": "u"}}
    assert update(live, new, api_version="g/v1", schema=things, sent=[]) == managed


def test_managed_fields_of_the_client_replace_those_of_the_object() -> None:
    live = config_map([entry("one", data("a", whole=True))], a="1")
    sent = [entry("other", data("a"))]
    assert update(live, config_map(sent, a="1", b="1")) == [
        entry("other", data("a")),
        entry("m", data("b"), time=LATER),
    ]


@pytest.mark.parametrize(
    "wrong",
    [{"operation": "Delete"}, {"apiVersion": ""}, {"fieldsType": ""}, {"fieldsType": "V2"}, {"fieldsV1": {"x": {}}}],
)
def test_wrong_managed_fields_of_the_client_are_ignored(wrong: dict[str, Any]) -> None:
    managed = [entry("one", data("a", whole=True))]
    assert update(config_map(managed, a="1"), config_map([{**entry("x", data("a")), **wrong}], a="1")) == managed


def test_managed_fields_sent_through_a_subresource_are_ignored() -> None:
    managed = [entry("one", data("a", whole=True))]
    new = config_map([entry("x", data("a"))], a="1", b="1")
    assert update(config_map(managed, a="1"), new, subresource="status") == [
        *managed,
        entry("m", data("b"), time=LATER, subresource="status"),
    ]


def test_reset_fields_are_not_recorded() -> None:
    live = config_map([entry("one", data("a", whole=True))], a="1")
    assert update(live, config_map(a="1", b="1"), reset_fields=(("data",),)) == [entry("one", data("a", whole=True))]


def test_managers_of_versions_that_are_gone_are_dropped() -> None:
    live = config_map([{**entry("one", data("a")), "apiVersion": "v0"}], a="1")
    assert update(live, config_map(a="1", b="1")) == [entry("m", data("b"), time=LATER)]


def test_managers_of_other_versions_see_the_converted_object() -> None:
    """v0 has the value of b in a: a change of b takes a from its manager there."""

    def to_v0(obj: dict[str, Any], version: str) -> dict[str, Any]:
        return {**obj, "data": {"a": obj["data"]["b"]}}

    live = config_map([{**entry("one", data("a")), "apiVersion": "v0"}], a="1", b="1")
    made = update(live, config_map(a="1", b="2"), schemas=lambda version: schema("v1", "ConfigMap"), convert=to_v0)
    assert made == [entry("m", data("b"), time=LATER)]


def test_custom_resources_look_the_same_in_all_versions_of_their_group() -> None:
    things = custom_schema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "g/v2", "Thing")
    managed = [{**entry("one", {"f:spec": {"f:a": {}, "f:b": {}}}), "apiVersion": "g/v1"}]
    live = {"metadata": {"uid": "u", "managedFields": managed}, "spec": {"a": 1, "b": 1}}
    made = update(live, {"metadata": {"uid": "u"}, "spec": {"a": 2, "b": 1}}, api_version="g/v2", schema=things)
    assert made is not None
    assert [item["fieldsV1"] for item in made] == [{"f:spec": {"f:b": {}}}, {"f:spec": {"f:a": {}}}]


def test_an_unnamed_manager_is_unknown() -> None:
    assert update(None, config_map(a="1"), "") == [entry("unknown", data("a", whole=True), time=LATER)]


def test_the_oldest_of_more_than_ten_updaters_are_joined() -> None:
    names = "abcdefghij"
    managed = [entry(f"m{name}", data(name), time=f"2026-01-01T00:00:{10 + i}Z") for i, name in enumerate(names)]
    values: dict[str, Any] = dict.fromkeys(names, "1")
    made = update(config_map(managed, **values), config_map(**values, z="1"))
    assert made is not None
    assert made[0] == entry("ancient-changes", data("a", "b"), time="2026-01-01T00:00:11Z")
    assert [item["manager"] for item in made] == [
        "ancient-changes",
        "mc",
        "md",
        "me",
        "mf",
        "mg",
        "mh",
        "mi",
        "mj",
        "m",
    ]


def test_entries_are_sorted_by_operation_time_and_name() -> None:
    managed = [entry("z", data("a"), "Apply", LATER), entry("b", data("b")), entry("a", data("c"), time=LATER)]
    made = update(config_map(managed, a="1", b="1", c="1"), config_map(a="1", b="1", c="1", d="1"), "0")
    assert made is not None
    assert [item["manager"] for item in made] == ["z", "b", "0", "a"]


def test_duplicates_in_a_keyed_list_are_one_field() -> None:
    pods = schema("v1", "Pod")
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    pod = {"metadata": {}, "spec": {"containers": [{"name": "c", "env": env, "resources": {}}]}, "status": {}}
    made = update(None, pod, schema=pods)
    assert made is not None
    container = made[0]["fieldsV1"]["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert container["f:env"] == {".": {}, 'k:{"name":"A"}': {}}


def test_objects_are_left_as_they_are() -> None:
    live, new = config_map([entry("one", data("a", whole=True))], a="1"), config_map(a="2")
    before = copy.deepcopy((live, new))
    update(live, new)
    assert (live, new) == before


def test_times_are_restored_when_nothing_else_changed() -> None:
    old = config_map([entry("one", data("a"), "Apply")], a="1")
    new = config_map([entry("one", data("a"), "Apply", LATER)], a="1")
    restore_times(new, old)
    assert new == old
    changed = config_map([entry("one", data("a"), "Apply", LATER)], a="2")
    restore_times(changed, old)
    assert changed["metadata"]["managedFields"][0]["time"] == LATER


def test_scale_shows_the_owners_of_the_replicas() -> None:
    replicas: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
    parent = [{**entry("one", {"f:spec": {"f:paused": {}, "f:replicas": {}}}), "apiVersion": "apps/v1"}]
    versions = frozenset({"apps/v1"})
    scale = to_scale(parent, ("spec", "replicas"), versions)
    assert scale == [{**entry("one", replicas), "apiVersion": "autoscaling/v1"}]
    written = [{**entry("two", replicas, subresource="scale"), "apiVersion": "autoscaling/v1"}]
    expected = {**entry("two", replicas, subresource="scale"), "apiVersion": "apps/v1"}
    del expected["time"]
    assert to_parent(parent, written, ("spec", "replicas"), versions, "apps/v1") == [
        expected,
        {**entry("one", {"f:spec": {"f:paused": {}}}), "apiVersion": "apps/v1"},
    ]
