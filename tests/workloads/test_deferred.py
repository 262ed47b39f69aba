"""Adapters that commands make only when they use them are those that the relay has."""

from __future__ import annotations

import pytest

from jobrelay.kube.resource import JOBS
from jobrelay.workloads import Adapter, JobAdapter, load_adapters
from jobrelay.workloads.builtin.deferred import deferred_adapter


def test_they_are_the_same_kinds_in_the_same_order() -> None:
    assert [each.resource for each in load_adapters([], deferred=True)] == [each.resource for each in load_adapters([])]


def test_every_attribute_of_an_adapter_is_there() -> None:
    names = [name for name in vars(Adapter) if not name.startswith("_")]
    for deferred, real in zip(load_adapters([], deferred=True), load_adapters([]), strict=True):
        for name in ("managed_by_path", "managers", "native", "runs_anyway"):
            assert getattr(deferred, name) == getattr(real, name)
        assert all(callable(getattr(deferred, name)) == callable(getattr(real, name)) for name in names)


def test_reading_makes_no_adapter_and_the_rest_makes_one() -> None:
    made: list[JobAdapter] = []

    class Reader:
        managers = frozenset({"x"})

    def make() -> Adapter:
        made.append(JobAdapter())
        return made[-1]

    adapter = deferred_adapter(JOBS, make, Reader())
    assert (adapter.resource, adapter.managers, made) == (JOBS, {"x"}, [])
    assert adapter.native == adapter.native == "kubernetes.io/job-controller"
    assert len(made) == 1


def test_what_no_adapter_has_is_an_error() -> None:
    with pytest.raises(AttributeError, match="colour"):
        deferred_adapter(JOBS, JobAdapter).colour  # type: ignore[attr-defined]  # noqa: B018
