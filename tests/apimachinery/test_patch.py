"""JSON patch, merge patch and strategic merge patch, and what the server answers when they fail."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.patch import (
    PatchError,
    UnstructuredConversionError,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_patch,
    check_json_patch,
    check_merge_patch,
    check_strategic_patch,
    convert,
    go_format,
    patched_text,
)
from jobrelay.apimachinery.patch.errors import go_float
from jobrelay.apimachinery.types import Type, type_for_kind, type_of

POD_SPEC = type_of("io.k8s.api.core.v1.PodSpec")
META = type_of("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
DOCUMENT: dict[str, Any] = {"a": {"b": [1, 2, 3]}, "c": "text", "n": 2}


def job() -> Type:
    found = type_for_kind("batch/v1", "Job")
    assert found is not None
    return found


def answer(caught: pytest.ExceptionInfo[PatchError]) -> tuple[int, str, str]:
    return caught.value.code, caught.value.reason, caught.value.message


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/x", "value": 1}, {**DOCUMENT, "x": 1}),
        ({"op": "add", "path": "/a/b/-", "value": 4}, {**DOCUMENT, "a": {"b": [1, 2, 3, 4]}}),
        ({"op": "add", "path": "/a/b/1", "value": 9}, {**DOCUMENT, "a": {"b": [1, 9, 2, 3]}}),
        ({"op": "add", "path": "/a/b/-1", "value": 9}, {**DOCUMENT, "a": {"b": [1, 2, 3, 9]}}),
        ({"op": "add", "path": "/a/x~1y~0z", "value": 9}, {**DOCUMENT, "a": {"b": [1, 2, 3], "x/y~z": 9}}),
        ({"op": "add", "path": "ignored/c", "value": 9}, {**DOCUMENT, "c": 9}),
        ({"op": "remove", "path": "/a/b/-1"}, {**DOCUMENT, "a": {"b": [1, 2]}}),
        ({"op": "replace", "path": "/missing", "value": 1}, {**DOCUMENT, "missing": 1}),
        ({"op": "replace", "path": "", "value": {"z": 1}}, {"z": 1}),
        ({"op": "move", "from": "/c", "path": "/d"}, {"a": {"b": [1, 2, 3]}, "d": "text", "n": 2}),
        ({"op": "copy", "from": "/a/b", "path": "/d"}, {**DOCUMENT, "d": [1, 2, 3]}),
        ({"op": "copy", "from": "/missing", "path": "/d"}, {**DOCUMENT, "d": None}),
        ({"op": "test", "path": "/a", "value": {"b": [1, 2, 3]}}, DOCUMENT),
        ({"op": "test", "path": "/missing", "value": None}, DOCUMENT),
    ],
)
def test_json_patch_operations(operation: dict[str, Any], expected: Any) -> None:
    before = copy.deepcopy(DOCUMENT)
    assert apply_json_patch(DOCUMENT, [operation]) == expected
    assert before == DOCUMENT


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "add", "path": "/a/b/9", "value": 1},
        {"op": "add", "path": "/a/b/x", "value": 1},
        {"op": "add", "path": "/c/x", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "add"},
        {"op": "remove", "path": "/missing"},
        {"op": "remove", "path": "/a/b/3"},
        {"op": "replace", "path": "/a/b/3", "value": 1},
        {"op": "replace", "path": "", "value": 1},
        {"op": "move", "from": "/missing", "path": "/d"},
        {"op": "test", "path": "/n", "value": 2.0},
        {"op": "test", "path": "/n", "value": True},
        {"op": "test", "path": "/c"},
        {"op": "unknown", "path": "/c"},
        None,
    ],
)
def test_json_patch_failures_have_one_answer(operation: Any) -> None:
    with pytest.raises(PatchError) as caught:
        apply_json_patch(DOCUMENT, [operation])
    assert answer(caught) == (422, "Invalid", "the server rejected our request due to an error in our request")
    assert caught.value.details == {}


def test_later_operations_see_earlier_ones_and_values_are_not_shared() -> None:
    value: dict[str, Any] = {}
    operations = [
        {"op": "add", "path": "/x", "value": value},
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "copy", "from": "/x", "path": "/z"},
        {"op": "add", "path": "/x/w", "value": 2},
    ]
    assert apply_json_patch({}, operations) == {"x": {"y": 1, "w": 2}, "z": {"y": 1}}
    assert value == {}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ([5], "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (
            [{"op": 5}],
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
    ],
)
def test_json_patch_bodies_of_the_wrong_type(body: Any, text: str) -> None:
    with pytest.raises(PatchError) as caught:
        check_json_patch(body, strict=True)
    assert answer(caught) == (400, "BadRequest", text)


def test_json_patch_notes_unknown_members() -> None:
    operations = [{"op": "add", "path": "/x", "value": 1, "colour": 2}]
    assert check_json_patch(operations, strict=True) == (operations, ['json patch unknown field "[0].colour"'])
    assert check_json_patch(operations, strict=False) == (operations, [])


def test_json_patch_copies_are_limited() -> None:
    doubling = [{"op": "copy", "from": "/x", "path": f"/x/{index}"} for index in range(40)]
    with pytest.raises(PatchError, match="the server rejected our request"):
        apply_json_patch({"x": {}}, doubling)


def test_json_patch_has_a_limit() -> None:
    with pytest.raises(PatchError) as caught:
        check_json_patch([{}] * 10_001, strict=True)
    text = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert answer(caught) == (413, "RequestEntityTooLarge", text)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


def naive_merge(target: Any, patch: Any) -> Any:
    """The pseudo code of RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = naive_merge(target.get(key), value)
    return target


def without_nulls(value: Any) -> Any:
    """Nulls inside of lists are where servers differ; the RFC keeps them."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@given(objects, objects)
def test_merge_patch_follows_the_rfc(document: dict[str, Any], patch: dict[str, Any]) -> None:
    before = copy.deepcopy(document)
    merged = apply_merge_patch(document, patch)
    assert without_nulls(merged) == without_nulls(naive_merge(document, patch))
    assert document == before


@given(objects, objects)
def test_merge_patch_is_idempotent(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = apply_merge_patch(document, patch)
    assert without_nulls(apply_merge_patch(once, patch)) == without_nulls(once)


def test_merge_patch_bodies_of_the_wrong_type() -> None:
    with pytest.raises(PatchError) as caught:
        check_merge_patch(None, strict=True)
    assert answer(caught) == (400, "BadRequest", "Invalid JSON Patch")
    with pytest.raises(PatchError, match=r"cannot unmarshal array into Go value of type map\[string\]interface \{\}"):
        check_merge_patch([], strict=True)


PODS: dict[str, Any] = {
    "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c", "image": "3"}],
    "volumes": [{"name": "v", "configMap": {"name": "x"}}],
    "tolerations": [{"key": "k"}],
    "nodeSelector": {"n": "1"},
}


@pytest.mark.parametrize(
    ("patch", "field", "expected"),
    [
        ({"containers": [{"name": "b", "image": "9"}]}, "containers.image", ["1", "9", "3"]),
        ({"containers": [{"name": "b", "$patch": "delete"}]}, "containers.name", ["a", "c"]),
        ({"containers": [{"$patch": "replace"}, {"name": "z"}]}, "containers.name", ["z"]),
        ({"containers": [{"name": "z"}]}, "containers.name", ["z", "a", "b", "c"]),
        ({"containers": [{"name": "c"}, {"name": "a"}]}, "containers.name", ["b", "c", "a"]),
        ({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}, "containers.name", ["b", "c", "a"]),
        (
            {"$setElementOrder/containers": [{"name": "n"}, {"name": "a"}], "containers": [{"name": "n"}]},
            "containers.name",
            ["n", "a", "b", "c"],
        ),
        ({"tolerations": [{"key": "z"}]}, "tolerations.key", ["z"]),
        ({"tolerations": None}, "tolerations.key", []),
        ({"volumes": [{"$retainKeys": ["name"], "name": "v"}]}, "volumes.configMap", [None]),
    ],
)
def test_strategic_lists(patch: dict[str, Any], field: str, expected: list[Any]) -> None:
    before = copy.deepcopy(PODS)
    name, member = field.split(".")
    result = apply_strategic_patch(PODS, patch, POD_SPEC)
    assert [item.get(member) for item in result.get(name, [])] == expected
    assert before == PODS


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"$patch": "replace", "m": "2"}, {"m": "2"}),
        ({"$patch": "delete"}, {}),
        ({"m": "2", "n": None}, {"m": "2"}),
        ({"m": None}, {"n": "1"}),
    ],
)
def test_strategic_maps(patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert apply_strategic_patch(PODS, {"nodeSelector": patch}, POD_SPEC)["nodeSelector"] == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"finalizers": ["z", "a"]}, ["z", "a", "b"]),
        ({"finalizers": []}, ["a", "b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a"]}, ["b"]),
        ({"$deleteFromPrimitiveList/finalizers": None}, None),
        ({"$deleteFromPrimitiveList/finalizers": "a"}, ["a", "b"]),
        ({"$setElementOrder/finalizers": ["b", "z"], "finalizers": ["z"]}, ["a", "b", "z"]),
    ],
)
def test_strategic_primitive_lists(patch: dict[str, Any], expected: list[str] | None) -> None:
    assert apply_strategic_patch({"finalizers": ["a", "b"]}, patch, META).get("finalizers") == expected


@pytest.mark.parametrize(
    ("patch", "code", "text"),
    [
        ({"containers": [{"image": "z"}]}, 500, "map: map[image:z] does not contain declared merge key: name"),
        ({"containers": [{"$patch": "x"}]}, 500, "unknown patch type: x in map: map[$patch:x]"),
        ({"containers": [{"$patch": "merge"}]}, 500, "merging lists cannot yet be specified in the patch"),
        ({"containers": ["x"]}, 500, "list element types are not identical: [[map[name:a]] [x]]"),
        ({"nodeSelector": {"$patch": "merge"}}, 500, "unknown patch type: merge in map: map[$patch:merge]"),
        ({"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({"$setElementOrder/x": []}, 500, 'unable to find api field in struct PodSpec for the json field "x"'),
        ({"$setElementOrder/containers": 1}, 500, "expected a []interface {}, but received a int64"),
        ({"volumes": [{"$retainKeys": [], "name": "v"}]}, 400, "invalid patch format of retainKeys"),
        (
            {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]},
            500,
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
    ],
)
def test_strategic_failures(patch: dict[str, Any], code: int, text: str) -> None:
    document = {"containers": [{"name": "a"}], "nodeSelector": {}, "volumes": [{"name": "v"}]}
    with pytest.raises(PatchError) as caught:
        apply_strategic_patch(document, patch, POD_SPEC)
    assert (caught.value.code, caught.value.message) == (code, text)


def test_strategic_patch_takes_new_values_without_nulls_and_directives() -> None:
    patch = {"spec": {"template": {"x": None, "y": {"$patch": "delete"}, "z": [{"$patch": "replace"}, {"a": None}]}}}
    assert apply_strategic_patch({}, patch, job()) == {"spec": {"template": {"z": [{}]}}}


def test_strategic_patch_into_raw_json_is_refused() -> None:
    revision = type_for_kind("apps/v1", "ControllerRevision")
    assert revision is not None
    with pytest.raises(PatchError, match='unable to find api field in struct RawExtension for the json field "a"'):
        apply_strategic_patch({"data": {"a": {"b": 1}}}, {"data": {"a": {"b": 2}}}, revision)


def test_strategic_bodies_of_the_wrong_type() -> None:
    assert check_strategic_patch(None) == {}
    with pytest.raises(PatchError, match=r"^json: cannot unmarshal array into Go value"):
        check_strategic_patch([])


names = st.sampled_from("abcd")
env = st.lists(
    st.fixed_dictionaries({"name": names, "value": st.text("xy", max_size=2)}), unique_by=lambda e: e["name"]
)


@given(env, env)
def test_strategic_lists_hold_what_a_dictionary_would(live: list[Any], patch: list[Any]) -> None:
    container = type_of("io.k8s.api.core.v1.Container")
    result = apply_strategic_patch({"env": live}, {"env": patch}, container)["env"]
    expected = {e["name"]: e for e in live} | {e["name"]: e for e in patch}
    assert {e["name"]: e for e in result} == expected
    assert len(result) == len(expected)
    patched = [e["name"] for e in patch]
    assert [e["name"] for e in result if e["name"] in patched] == patched


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("x", "cannot restore struct from: string"),
        ({"parallelism": "x"}, "unrecognized type: int32"),
        ({"parallelism": 3.5}, "cannot convert float64 to int32"),
        ({"suspend": 1}, "unrecognized type: bool"),
        ({"managedBy": 1}, "cannot convert int64 to string"),
        ({"podFailurePolicy": {"rules": {}}}, "cannot restore slice from map"),
        ({"template": {"metadata": {"labels": []}}}, "cannot restore map from slice"),
        (
            {"template": {"metadata": {"deletionTimestamp": 1}}},
            "json: cannot unmarshal number into Go value of type string",
        ),
    ],
)
def test_conversion_errors_name_types(spec: Any, text: str) -> None:
    with pytest.raises(UnstructuredConversionError) as caught:
        convert({"spec": spec}, job())
    assert str(caught.value) == text


def test_conversion_wraps_numbers() -> None:
    converted = convert({"spec": {"parallelism": 2**32 + 3, "completions": 4.0, "unknown": 1}}, job())
    assert converted == {"spec": {"parallelism": 3, "completions": 4, "unknown": 1}}


def test_values_are_printed_as_go_does() -> None:
    value = {"b": [1, "x", None, True], "a": {"c": 1.5}, "d": 1e21, "e": 100000.0}
    assert go_format(value) == "map[a:map[c:1.5] b:[1 x <nil> true] d:1e+21 e:100000]"
    assert [go_float(number) for number in (0.0, 1e-5, 1.25e22)] == ["0", "1e-05", "1.25e+22"]


LIVE: dict[str, Any] = {
    "kind": "ConfigMap",
    "metadata": {"uid": "u", "labels": {"b": "1", "a": "<"}, "name": "c"},
    "data": {"b": "1", "a": "2"},
}


def test_untouched_parts_are_shown_in_the_order_of_go_and_opened_ones_sorted() -> None:
    type_ = type_for_kind("v1", "ConfigMap")
    patched = apply_merge_patch(LIVE, {"data": {"z": 5, "c": {"y": 1, "x": 2}}})
    assert patched_text(LIVE, patched, type_, sort_new=True) == (
        '{"data":{"a":"2","b":"1","c":{"x":2,"y":1},"z":5},"kind":"ConfigMap",'
        '"metadata":{"name":"c","uid":"u","labels":{"a":"\\u003c","b":"1"}}}'
    )


def test_values_of_a_json_patch_are_shown_as_they_were_sent() -> None:
    patched = apply_json_patch(LIVE, [{"op": "add", "path": "/metadata/x", "value": {"z": 1, "a": [{"c": 1, "b": 2}]}}])
    text = patched_text(LIVE, patched, type_for_kind("v1", "ConfigMap"), sort_new=False)
    assert text.endswith(
        '"metadata":{"labels":{"a":"\\u003c","b":"1"},"name":"c","uid":"u","x":{"z":1,"a":[{"c":1,"b":2}]}}}'
    )


def test_custom_resources_are_shown_sorted() -> None:
    assert patched_text(LIVE, LIVE, None, sort_new=True).startswith(
        '{"data":{"a":"2","b":"1"},"kind":"ConfigMap","metadata":'
    )


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "add", "path": "/x/y"}, 'add operation does not apply: doc is missing path: "/x/y": missing value'),
        (
            {"op": "remove", "path": "/b"},
            "error in remove for path: '/b': Unable to remove nonexistent key: b: missing value",
        ),
        (
            {"op": "replace", "path": "/x/y"},
            "replace operation does not apply: doc is missing path: /x/y: missing value",
        ),
        (
            {"op": "replace", "path": "/l/7"},
            "replace operation does not apply: doc is missing key: /l/7: missing value",
        ),
        ({"op": "test", "path": "/a", "value": 2}, "testing value /a failed: test failed"),
        (
            {"op": "move", "from": "/x/y", "path": "/b"},
            "move operation does not apply: doc is missing from path: /x/y: missing value",
        ),
        (
            {"op": "copy", "from": "/a", "path": "/x/y"},
            "copy operation does not apply: doc is missing destination path: /x/y: missing value",
        ),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        ({"op": "shift", "path": "/a"}, "Unexpected kind: shift"),
    ],
)
def test_what_does_not_fit_is_told(operation: dict[str, Any], why: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply_json_patch({"a": 1, "l": [1]}, [operation])
    assert caught.value.why == why
