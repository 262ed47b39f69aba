"""Server-side apply: merging, ownership, conflicts, and what the server says to wrong configurations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.apply import ApplyConflict, apply_object, built_in_schema, check_apply, custom_schema
from jobrelay.apimachinery.apply.merge import merge
from jobrelay.apimachinery.apply.schema import Schema
from jobrelay.apimachinery.patch import PatchError

NOW = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:04:06Z"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def schema(api_version: str, kind: str) -> Schema:
    found = built_in_schema(api_version, kind)
    assert found is not None
    return found


CONFIG_MAP, POD = schema("v1", "ConfigMap"), schema("v1", "Pod")


def config_map(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def apply(live: dict[str, Any] | None, config: dict[str, Any], manager: str = "m", **more: Any) -> dict[str, Any]:
    """Applies and puts the managedFields where they belong."""
    options: dict[str, Any] = {"api_version": "v1", "now": NOW, "schema": CONFIG_MAP, **more}
    merged, managed = apply_object(live, config, manager=manager, **options)
    metadata = {**merged["metadata"], "uid": "u", **({"managedFields": managed} if managed else {})}
    return {**merged, "metadata": metadata}


def owners(obj: dict[str, Any]) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def failure(config: Any, used: Schema = CONFIG_MAP) -> tuple[int, str, str]:
    with pytest.raises(PatchError) as caught:
        apply_object(None, config, manager="m", api_version="v1", now=NOW, schema=used)
    return caught.value.code, caught.value.reason, caught.value.message


def test_apply_creates_and_owns_what_it_names() -> None:
    made = apply(None, config_map(a="1"))
    assert made["data"] == {"a": "1"}
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": NOW,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}},
        }
    ]


def test_fields_that_are_no_longer_applied_are_removed() -> None:
    live = apply(apply(None, config_map(a="1", b="2")), config_map(a="1"))
    assert live["data"] == {"a": "1"}
    assert owners(live) == {"m": {"f:data": {"f:a": {}}}}


def test_fields_of_others_stay() -> None:
    live = apply(apply(None, config_map(a="1", b="2")), config_map(b="2"), "other")
    assert apply(live, config_map(a="1"))["data"] == {"a": "1", "b": "2"}


def test_the_same_again_changes_nothing_not_even_the_time() -> None:
    live = apply(None, config_map(a="1"))
    assert apply(live, config_map(a="1"), now=LATER) == live


def test_who_joins_with_an_equal_value_has_no_time() -> None:
    live = apply(apply(None, config_map(a="1")), config_map(a="1"), "other", now=LATER)
    other = next(entry for entry in live["metadata"]["managedFields"] if entry["manager"] == "other")
    assert "time" not in other


def test_conflicts_name_manager_and_field() -> None:
    live = apply(None, config_map(a="1"))
    live["metadata"]["managedFields"][0]["operation"] = "Update"
    with pytest.raises(ApplyConflict) as caught:
        apply(live, config_map(a="2"), "other")
    assert caught.value.message == 'Apply failed with 1 conflict: conflict with "m" using v1: .data.a'
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert caught.value.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "m" using v1', "field": ".data.a"}]
    }


def test_several_conflicts_are_listed_by_manager() -> None:
    live = apply(apply(None, config_map(a="1", b="1")), config_map(b="1", c="1"), "n", subresource="status")
    with pytest.raises(ApplyConflict) as caught:
        apply(live, config_map(a="2", b="2"), "other")
    assert caught.value.message == (
        'Apply failed with 3 conflicts: conflicts with "m":\n- .data.a\n- .data.b\n'
        'conflicts with "n" with subresource "status":\n- .data.b'
    )


def test_force_takes_over() -> None:
    live = apply(apply(None, config_map(a="1")), config_map(a="2"), "other", force=True)
    assert live["data"] == {"a": "2"}
    assert owners(live) == {"other": {"f:data": {"f:a": {}}}}


def test_objects_without_managers_belong_to_before_first_apply() -> None:
    live = {**config_map(a="1"), "metadata": {"name": "c", "uid": "u"}}
    with pytest.raises(ApplyConflict, match=r'conflict with "before-first-apply" using v1: \.data\.a'):
        apply(live, config_map(a="2"))
    joined = apply(live, config_map(b="2"))
    assert owners(joined)["before-first-apply"] == {"f:data": {".": {}, "f:a": {}}}


def test_reset_fields_are_not_owned() -> None:
    config = pod(nodeName="n") | {"status": {"phase": "Running"}}
    made = apply(None, config, schema=POD, reset_fields=(("status",),))
    assert owners(made) == {"m": {"f:spec": {"f:nodeName": {}}}}


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        ("abc", "ca", "bca"),
        ("abc", "xb", "axbc"),
        ("abc", "cx", "abcx"),
        ("abc", "bxa", "bcxa"),
        ("", "ab", "ab"),
        ("ab", "", "ab"),
        ("abcd", "dca", "bdca"),
    ],
)
def test_order_of_merged_lists(live: str, config: str, expected: str) -> None:
    def containers(names: str) -> dict[str, Any]:
        return pod(containers=[{"name": name} for name in names])

    merged = merge(containers(live), containers(config), POD.root)
    assert "".join(item["name"] for item in merged["spec"]["containers"]) == expected


@given(st.permutations("abcd"), st.permutations("cdef"), st.integers(0, 4), st.integers(0, 4))
def test_merged_lists_keep_both_and_the_order_of_the_configuration(
    live: list[str], config: list[str], some: int, more: int
) -> None:
    live, config = live[:some], config[:more]
    result = merge({"metadata": {"finalizers": live}}, {"metadata": {"finalizers": config}}, POD.root)
    merged = result["metadata"]["finalizers"]
    assert sorted(merged) == sorted({*live, *config})
    assert [item for item in merged if item in config] == config


def test_list_elements_merge_by_their_keys_and_defaults() -> None:
    ports = [{"containerPort": 80, "protocol": "TCP", "name": "web"}, {"containerPort": 80, "protocol": "UDP"}]
    live = pod(containers=[{"name": "c", "ports": ports}])
    config = pod(containers=[{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}])
    merged = merge(live, config, POD.root)
    assert merged["spec"]["containers"][0]["ports"] == [{**ports[0], "hostPort": 8080}, ports[1]]


def test_atomic_values_are_replaced_whole() -> None:
    live = pod(nodeSelector={"a": "1"}, tolerations=[{"key": "a"}])
    merged = merge(live, pod(nodeSelector={"b": "2"}, tolerations=[{"key": "b"}]), POD.root)
    assert merged["spec"] == {"nodeSelector": {"b": "2"}, "tolerations": [{"key": "b"}]}


def test_null_replaces_leaves_but_keeps_maps_that_merge() -> None:
    merged = merge(config_map(a="1"), {**config_map(), "data": None, "immutable": None}, CONFIG_MAP.root)
    assert (merged["data"], merged["immutable"]) == ({"a": "1"}, None)


def test_removed_list_elements_go_with_all_their_fields() -> None:
    live = apply(None, pod(containers=[{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]), schema=POD)
    live["spec"]["containers"][1]["imagePullPolicy"] = "Always"
    assert apply(live, pod(containers=[{"name": "a", "image": "i"}]), schema=POD)["spec"] == {
        "containers": [{"name": "a", "image": "i"}]
    }


PREFIX = "failed to create typed patch object (/c; /v1, Kind=ConfigMap): "


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"colour": 1}, ".colour: field not declared in schema"),
        ({"data": {"x": 5}}, ".data.x: expected string, got &value.valueUnstructured{Value:5}"),
        ({"data": {"x": True}}, ".data.x: expected string, got &value.valueUnstructured{Value:true}"),
        (
            {"data": {"x": {"a": [1, "b"]}}},
            '.data.x: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{1, "b"}}}',
        ),
        ({"data": 5}, ".data: expected map, got &{5}"),
        ({"data": [1]}, ".data: expected map, got &{[1]}"),
        ({"immutable": "x"}, ".immutable: expected boolean, got &{x}"),
        (
            {"metadata": {"name": "c", "finalizers": ["a", "a"], "labels": {"a": 1.5}}},
            'errors:\n  .metadata.finalizers: duplicate entries for key [="a"]'
            "\n  .metadata.labels.a: expected string, got &value.valueUnstructured{Value:1.5}",
        ),
    ],
)
def test_configurations_that_do_not_fit_the_schema(change: dict[str, Any], text: str) -> None:
    assert failure({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, **change}) == (
        500,
        "",
        PREFIX + text,
    )


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"containers": [{"name": "a"}, {"name": "a"}]}, '.spec.containers: duplicate entries for key [name="a"]'),
        (
            {"containers": ["x"]},
            ".spec.containers: element 0: associative list with keys may not have non-map elements",
        ),
        ({"containers": [None]}, ".spec.containers: element 0: associative list with keys may not have a null element"),
        ({"containers": {}}, ".spec.containers: expected list, got &{map[]}"),
        ({"priority": "x"}, ".spec.priority: expected numeric (int or float), got string"),
    ],
)
def test_pods_that_do_not_fit_the_schema(spec: dict[str, Any], text: str) -> None:
    assert failure(pod(**spec), POD)[2] == f"failed to create typed patch object (/p; /v1, Kind=Pod): {text}"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"priority": 1.5}, "cannot convert float64 to int32"),
        ({"overhead": {"cpu": "1nn"}}, "unable to parse quantity's suffix"),
    ],
)
def test_values_that_only_look_right(spec: dict[str, Any], text: str) -> None:
    prefix = (
        "failed to convert new object (/p; /v1, Kind=Pod) to proper version: unable to convert unstructured object to "
    )
    assert failure(pod(**spec), POD) == (500, "", f"{prefix}/v1, Kind=Pod: {text}")


def test_numbers_take_their_go_types() -> None:
    made = apply(None, pod(priority=2.0, activeDeadlineSeconds=5), schema=POD)
    assert (made["spec"]["priority"], type(made["spec"]["priority"])) == (2, int)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"kind": "ConfigMap"}, "invalid object type: /, Kind=ConfigMap"),
        ({"apiVersion": "v1"}, "invalid object type: /v1, Kind="),
        ({"apiVersion": "a/b/c", "kind": "ConfigMap"}, "invalid object type: /, Kind="),
        ({"apiVersion": "batch/v1", "kind": "Job"}, "invalid object type: batch/v1, Kind=Job"),
        ({**config_map(), "metadata": {"managedFields": []}}, "metadata.managedFields must be nil"),
    ],
)
def test_wrong_kinds_are_bad_requests(config: dict[str, Any], text: str) -> None:
    assert failure(config) == (400, "BadRequest", text)


def test_bodies_of_the_wrong_type() -> None:
    assert check_apply(None) == {}
    with pytest.raises(
        PatchError, match="error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot"
    ):
        check_apply([])


def client_side(**data: str) -> dict[str, Any]:
    text = json.dumps(config_map(**data))
    managed = apply(None, config_map(**data), "kubectl-client-side-apply")["metadata"]["managedFields"]
    metadata = {"name": "c", "uid": "u", "annotations": {LAST_APPLIED: text}, "managedFields": managed}
    return {**config_map(**data), "metadata": metadata}


def test_kubectl_takes_over_what_it_applied_from_the_client() -> None:
    made = apply(client_side(a="1"), config_map(a="<2>"), "kubectl")
    assert made["data"] == {"a": "<2>"}
    assert made["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"a":"\\u003c2\\u003e"},"kind":"ConfigMap","metadata":{"name":"c"}}\n'
    )


def test_kubectl_still_conflicts_where_the_object_has_changed() -> None:
    live = client_side(a="1", b="1")
    live["data"]["b"] = "9"
    with pytest.raises(ApplyConflict, match=r'1 conflict: conflict with "kubectl-client-side-apply": \.data\.b'):
        apply(live, config_map(a="2", b="2"), "kubectl")


THING = custom_schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "plain": {"type": "array", "items": {"type": "string"}},
                    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "keyed": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name", "proto"],
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "proto": {"type": "string", "default": "TCP"}},
                        },
                    },
                    "whole": {
                        "type": "object",
                        "x-kubernetes-map-type": "atomic",
                        "properties": {"x": {"type": "integer"}},
                    },
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "port": {"x-kubernetes-int-or-string": True},
                    "table": {"type": "object", "additionalProperties": {"type": "object"}},
                    "pod": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "properties": {"x": {"type": "integer"}},
                    },
                },
            }
        },
    },
    "g/v1",
    "Thing",
)


def thing(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "g/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec}


@pytest.mark.parametrize(
    ("name", "value", "fields"),
    [
        ("plain", ["a"], {}),
        ("set", ["a"], {'v:"a"': {}}),
        ("keyed", [{"name": "a"}], {'k:{"name":"a","proto":"TCP"}': {".": {}, "f:name": {}}}),
        ("whole", {"x": 1}, {}),
        ("any", {"a": {"b": [1]}}, {"f:a": {".": {}, "f:b": {}}}),
        ("port", 5, {}),
        ("table", {"a": {}}, {"f:a": {}}),
        ("pod", {"metadata": {"labels": {"a": "1"}}}, {"f:metadata": {"f:labels": {"f:a": {}}}}),
    ],
)
def test_custom_resources_follow_their_schema(name: str, value: Any, fields: dict[str, Any]) -> None:
    made = apply(None, thing(**{name: value}), schema=THING, api_version="g/v1")
    assert owners(made) == {"m": {"f:spec": {f"f:{name}": fields}}}


def test_custom_resources_refuse_unknown_fields_and_nameless_elements() -> None:
    assert failure(thing(colour=1), THING)[2].endswith(".spec.colour: field not declared in schema")
    keyless = custom_schema(
        {
            "type": "object",
            "properties": {
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id"],
                    "items": {"type": "object", "properties": {"id": {"type": "string"}, "x": {"type": "string"}}},
                }
            },
        },
        "g/v1",
        "Thing",
    )
    config = {"apiVersion": "g/v1", "kind": "Thing", "metadata": {"name": "t"}, "list": [{"x": "1"}]}
    assert failure(config, keyless)[2].endswith(
        '.list: element 0: associative list with keys has an element that omits all key fields ["id"]'
        " (and doesn't have default values for any key fields)"
    )


configs = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3)


@given(st.lists(st.tuples(st.sampled_from(["x", "y", "z"]), configs), min_size=1, max_size=6))
def test_ownership_follows_a_naive_model(history: list[tuple[str, dict[str, str]]]) -> None:
    values: dict[str, str] = {}
    owned: dict[str, set[str]] = {}
    live = None
    for manager, config in history:
        for key in [key for key, who in owned.items() if manager in who and key not in config]:
            owned[key].discard(manager)
            if not owned[key]:
                del owned[key], values[key]
        for key, value in config.items():
            owned[key] = {manager} | (owned.get(key, set()) if values.get(key) == value else set())
            values[key] = value
        live = apply(live, config_map(**config), manager, force=True)
    assert live is not None
    assert live.get("data") == (values or live.get("data"))
    assert bool(live.get("data")) is bool(values)
    found = {
        key: {who for who, fields in owners(live).items() if f"f:{key}" in fields.get("f:data", {})} for key in values
    }
    assert found == owned
