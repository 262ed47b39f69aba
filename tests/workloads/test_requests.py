from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from jobrelay.apimachinery.quantity import QuantityError
from jobrelay.workloads.requests import pod_requests


def container(restart: str | None = None, limits: dict[str, str] | None = None, **requests: str) -> dict[str, Any]:
    resources: dict[str, Any] = {"requests": requests} if requests else {}
    if limits:
        resources["limits"] = limits
    return {"name": "c", "resources": resources, **({"restartPolicy": restart} if restart else {})}


def test_containers_add_up() -> None:
    assert pod_requests({"containers": [container(cpu="500m"), container(cpu="1", memory="1Ki")]}) == {
        "cpu": Fraction(3, 2),
        "memory": 1024,
    }


def test_amounts_of_custom_kinds_may_be_numbers() -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": 1, "memory": "1Ki"}, "limits": {"cpu": 2, "gpu": 4}}}]}
    assert pod_requests(spec) == {"cpu": 1, "memory": 1024, "gpu": 4}


def test_nothing_asked_is_nothing() -> None:
    assert pod_requests({"containers": [container(), container(cpu="0")]}) == {}


def test_limits_stand_for_missing_requests() -> None:
    spec = {"containers": [container(limits={"cpu": "2", "nvidia.com/gpu": "1"}, cpu="1")]}
    assert pod_requests(spec) == {"cpu": 1, "nvidia.com/gpu": 1}


def test_an_init_container_counts_only_if_it_needs_more() -> None:
    spec = {"containers": [container(cpu="1")], "initContainers": [container(cpu="3"), container(cpu="2")]}
    assert pod_requests(spec) == {"cpu": 3}


def test_a_sidecar_runs_beside_everything_after_it() -> None:
    spec = {"containers": [container(cpu="1")], "initContainers": [container("Always", cpu="1"), container(cpu="3")]}
    assert pod_requests(spec) == {"cpu": 4}


def test_what_the_whole_pod_says_counts_instead() -> None:
    spec = {"containers": [container(cpu="1", memory="1")], "resources": {"requests": {"cpu": "4"}}}
    assert pod_requests(spec) == {"cpu": 4, "memory": 1}


def test_a_limit_of_the_whole_pod_counts_where_no_container_asks() -> None:
    whole = {"limits": {"cpu": "4"}}
    assert pod_requests({"containers": [container()], "resources": whole}) == {"cpu": 4}
    assert pod_requests({"containers": [container(cpu="1")], "resources": whole}) == {"cpu": 1}


def test_overhead_comes_on_top() -> None:
    assert pod_requests({"containers": [container(cpu="1")], "overhead": {"cpu": "250m"}}) == {"cpu": Fraction(5, 4)}


def test_a_malformed_amount_is_an_error() -> None:
    with pytest.raises(QuantityError):
        pod_requests({"containers": [container(cpu="much")]})
