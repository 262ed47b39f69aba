"""What is written of fields that are not set."""

from __future__ import annotations

import pytest

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.types import type_of

TYPES = {
    "io.k8s.api.core.v1.Pod": ("metadata", "spec", "status"),
    "io.k8s.api.batch.v1.Job": ("metadata", "spec", "status"),
    "io.k8s.api.batch.v1.CronJob": ("metadata", "spec", "status"),
}


@pytest.mark.parametrize("name", TYPES)
def test_structs_that_are_not_set_are_written_and_belong_to_one_object(name: str) -> None:
    one, other = decode({}, type_of(name)), decode({}, type_of(name))
    assert one == other
    for key in TYPES[name]:
        one[key]["changed"] = True
        assert "changed" not in other[key]


def test_structs_inside_structs_that_are_not_set_belong_to_one_object_too() -> None:
    one, other = (decode({}, type_of("io.k8s.api.batch.v1.CronJob"))["spec"]["jobTemplate"] for _ in range(2))
    one["spec"]["template"]["spec"]["changed"] = True
    assert "changed" not in other["spec"]["template"]["spec"]
