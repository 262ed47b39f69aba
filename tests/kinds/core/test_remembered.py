"""What is remembered of objects that were seen before never changes what is found."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from jobrelay.apimachinery.apply import built_in_schema
from jobrelay.apimachinery.apply.compare import compare
from jobrelay.apimachinery.apply.created import STRIPPED, _remembered, created_fields, excluded_fields
from jobrelay.apimachinery.apply.fieldset import difference, ordered, union
from jobrelay.apimachinery.apply.schema import Schema
from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.field import Path
from jobrelay.apimachinery.gojson import Pairs, loads_keeping_repeats
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds.core.pod.common import Fields
from jobrelay.kinds.core.pod.remembered import LONGEST, MOST, remember_silence


class Check:
    """Finds fault with specs that have the key `bad`, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, spec: Fields, path: Path) -> list[str]:
        self.asked += 1
        return [f"{path}: bad"] if "bad" in spec else []


def test_silence_is_remembered() -> None:
    check = Check()
    remembering = remember_silence(check)
    assert [remembering({"a": 1}, Path("spec")) for _ in range(3)] == [[], [], []]
    assert check.asked == 1


def test_findings_are_not_remembered() -> None:
    check = Check()
    remembering = remember_silence(check)
    assert [remembering({"bad": 1}, Path("spec")) for _ in range(2)] == [["spec: bad"]] * 2
    assert check.asked == 2


def test_another_place_or_value_is_checked_again() -> None:
    check = Check()
    remembering = remember_silence(check)
    for spec, path in (({"a": 1}, "spec"), ({"a": True}, "spec"), ({"a": 1}, "spec.template")):
        remembering(spec, Path(path))
    assert check.asked == 3


def test_the_volume_of_credentials_may_have_another_name() -> None:
    check = Check()
    remembering = remember_silence(check)
    for name in ("kube-api-access-bcdfg", "kube-api-access-xz245"):
        remembering({"volumes": [{"name": "data"}, {"name": name}], "mounts": [name]}, Path("spec"))
    assert check.asked == 1


def test_two_such_names_in_a_spec_stay_apart() -> None:
    check = Check()
    remembering = remember_silence(check)
    for names in (["kube-api-access-bcdfg", "kube-api-access-xz245"], ["kube-api-access-bcdfg"] * 2):
        remembering({"volumes": names}, Path("spec"))
    assert check.asked == 2


def test_valid_host_names_count_as_one() -> None:
    check = Check()
    remembering = remember_silence(check)
    for name in ("sweep-0", "sweep-1"):
        assert remembering({"hostname": name}, Path("spec")) == []
    assert check.asked == 1


@pytest.mark.parametrize("name", ["~", "Not Valid", "x" * 64])
def test_other_host_names_are_checked(name: str) -> None:
    check = Check()
    remembering = remember_silence(check)
    for spec in ({"hostname": "sweep-0"}, {"hostname": name}, {}):
        remembering(spec, Path("spec"))
    assert check.asked == 3


def test_memory_is_bounded() -> None:
    check = Check()
    remembering = remember_silence(check)
    for number in range(MOST + 1):
        remembering({"a": number}, Path("spec"))
    remembering({"a": 0}, Path("spec"))
    for _ in range(2):
        remembering({"a": "x" * LONGEST}, Path("spec"))
    assert check.asked == MOST + 4


def job(labels: dict[str, str], names: list[str], number: int) -> dict[str, Any]:
    containers = [{"name": name, "image": "i", "env": [{"name": "A", "value": "b"}]} for name in names]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers, "restartPolicy": "Never"}}
    return {
        "metadata": {"name": f"job-{number}", "labels": labels},
        "spec": {"completions": number, "template": template},
    }


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=2)
NAMES = st.lists(st.sampled_from(["m", "n", "o"]), max_size=3)


@hypothesis.given(LABELS, NAMES, st.integers(0, 2), st.sampled_from([(), (("status",),), (("spec", "template"),)]))
def test_a_new_objects_fields_are_what_differs_from_an_empty_one(
    labels: dict[str, str], names: list[str], number: int, reset: tuple[tuple[str, ...], ...]
) -> None:
    schema, type_ = built_in_schema("batch/v1", "Job"), type_for_kind("batch/v1", "Job")
    assert schema is not None
    assert type_ is not None
    assert_fields_differ_from_empty(decode(job(labels, names, number), type_), schema, reset)


TEXTS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "y"]), max_size=3)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["", "job"]),
        "generateName": st.sampled_from(["", "job-"]),
        "creationTimestamp": st.sampled_from([None, "2026-01-02T03:04:05Z"]),
        "labels": TEXTS,
        "annotations": TEXTS,
        "finalizers": st.lists(st.sampled_from(["a/b", "c/d"]), max_size=2),
        "ownerReferences": st.lists(st.fixed_dictionaries({"uid": st.sampled_from("uv")}), max_size=1),
    },
)


@hypothesis.given(METADATA)
def test_metadata_with_the_same_keys_has_the_same_fields(metadata: dict[str, Any]) -> None:
    schema = built_in_schema("batch/v1", "Job")
    assert schema is not None
    assert_fields_differ_from_empty({"metadata": metadata}, schema, ())


def test_long_keys_are_not_held() -> None:
    schema = built_in_schema("v1", "ConfigMap")
    assert schema is not None
    before = len(_remembered)
    for number in range(3):
        long = f"{number}{'x' * LONGEST}"
        created_fields({"data": {long: "v"}, "metadata": {"annotations": {long: "v"}}}, schema, ())
    assert len(_remembered) == before


def assert_fields_differ_from_empty(new: dict[str, Any], schema: Schema, reset: tuple[tuple[str, ...], ...]) -> None:
    """The fields of a new object are those by which it differs from an empty one, in the server's order."""
    empty = {name: part for name, part in schema.empty.items() if name in new}
    changes = compare(empty, new, schema.root).without(excluded_fields(reset))
    naive = ordered(difference(union(changes.modified, changes.added), STRIPPED))
    found = created_fields(new, schema, reset)
    assert found == naive
    assert repr(found) == repr(naive)  # the order of keys too


def test_repeated_keys_are_seen_however_they_are_spaced() -> None:
    texts = (b'{"a":1,"a":2}', b'{"a" :1, "a"\n:\t2}', b'{"b":"\\":","a":1,"a":2}')
    assert all(isinstance(loads_keeping_repeats(text), Pairs) for text in texts)
    assert loads_keeping_repeats(b'{"a" : [{"b":1}, "x\\" :"]}') == {"a": [{"b": 1}, 'x" :']}
