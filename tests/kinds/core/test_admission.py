"""Limit ranges, default storage classes, growing claims, the one default priority class."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.quantity import number
from jobrelay.kinds.core import admission, limitranger


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    made = [{"name": f"c{i}", "resources": resources} for i, resources in enumerate(containers)]
    return {"metadata": {"name": "p"}, "spec": {"containers": made, **spec}}


def limits(**item: Any) -> dict[str, Any]:
    return {"metadata": {"name": "l"}, "spec": {"limits": [item]}}


def test_containers_get_defaults_and_an_annotation() -> None:
    made = pod({}, {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}})
    limitranger.fill_in(
        made, [limits(type="Container", default={"cpu": "1"}, defaultRequest={"cpu": "500m", "memory": "1Gi"})]
    )
    first, second = (container["resources"] for container in made["spec"]["containers"])
    assert first == {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1"}}
    assert second == {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "3"}}
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container c0;"
        " cpu limit for container c0; memory request for container c1"
    }


@pytest.mark.parametrize(
    ("item", "resources", "refusal"),
    [
        ({"min": {"cpu": "1"}}, {}, "minimum cpu usage per Container is 1.  No request is specified"),
        (
            {"min": {"cpu": "1"}},
            {"requests": {"cpu": "500m"}},
            "minimum cpu usage per Container is 1, but request is 500m",
        ),
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, "maximum cpu usage per Container is 1, but limit is 2"),
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}, ""),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
    ],
)
def test_container_bounds(item: dict[str, Any], resources: dict[str, Any], refusal: str) -> None:
    assert limitranger.pod_refusal(pod(resources), [limits(type="Container", **item)]) == refusal


def test_several_complaints_come_in_brackets() -> None:
    text = limitranger.pod_refusal(pod({}), [limits(type="Container", min={"cpu": "1"}, max={"cpu": "2"})])
    assert text == (
        "[minimum cpu usage per Container is 1.  No request is specified,"
        " maximum cpu usage per Container is 2.  No limit is specified]"
    )


def test_sidecars_count_with_every_later_step() -> None:
    steps = [
        {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "800m"}}},
        {"name": "i", "resources": {"requests": {"cpu": "700m"}}},
    ]
    made = pod({"requests": {"cpu": "500m"}}, initContainers=steps)
    assert limitranger.pod_total(made["spec"], "requests") == {"cpu": "1500m"}


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=4), st.lists(st.integers(0, 5000), max_size=3))
def test_pod_asks_for_its_containers_or_its_largest_step(running: list[int], steps: list[int]) -> None:
    made = pod(*({"requests": {"cpu": f"{n}m"}} for n in running))
    made["spec"]["initContainers"] = [{"name": "i", "resources": {"requests": {"cpu": f"{n}m"}}} for n in steps]
    total = limitranger.pod_total(made["spec"], "requests")["cpu"]
    assert number(total) * 1000 == max([sum(running), *steps])


def claim(size: str, phase: str = "Pending", name: str | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"resources": {"requests": {"storage": size}}}
    spec |= {"storageClassName": name} if name is not None else {}
    return {"metadata": {"name": "c"}, "spec": spec, "status": {"phase": phase}}


def storage_class(name: str, created: str, **fields: Any) -> dict[str, Any]:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}, **fields}


def test_newest_default_class_is_taken_and_ties_go_by_name() -> None:
    classes = [storage_class("old", "2025"), storage_class("b", "2026"), storage_class("a", "2026")]
    made = claim("1Gi")
    admission.fill_in_class(made, classes)
    assert made["spec"]["storageClassName"] == "a"


def test_empty_class_name_stays_empty() -> None:
    made = claim("1Gi", name="")
    admission.fill_in_class(made, [storage_class("a", "2026")])
    assert made["spec"]["storageClassName"] == ""


def test_only_bound_claims_of_growing_classes_grow() -> None:
    classes = [storage_class("a", "2026", allowVolumeExpansion=True), storage_class("b", "2026")]
    assert "Only bound" in admission.growth_refusal(claim("2Gi", name="a"), claim("1Gi", name="a"), classes)
    bound = claim("1Gi", "Bound", "b")
    assert "must support resize" in admission.growth_refusal(claim("2Gi", "Bound", "b"), bound, classes)
    assert admission.growth_refusal(claim("2Gi", "Bound", "a"), claim("1Gi", "Bound", "a"), classes) == ""


def test_one_default_priority_class() -> None:
    first = {"metadata": {"name": "first"}, "globalDefault": True, "value": 1}
    second = {"metadata": {"name": "second"}, "globalDefault": True, "value": 2}
    assert admission.second_default_refusal(first, [first]) == ""
    refusal = admission.second_default_refusal(second, [first])
    assert refusal == "PriorityClass first is already marked as default. Only one default can exist"
