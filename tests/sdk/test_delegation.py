"""Manifests become delegated: managedBy gets the value that the kind accepts, or an error names one that works."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.sdk import RelayError, delegate
from jobrelay.workloads import load_adapters
from jobrelay.workloads.declared.paths import first
from jobrelay.workloads.names import MULTIKUEUE, RELAY

ADAPTERS = load_adapters()
ACCEPTED = [each for each in ADAPTERS if not each.runs_anyway]


def manifest(adapter: Any, **spec: Any) -> dict[str, Any]:
    resource = adapter.resource
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "train"}, "spec": spec}


def adapter_of(kind: str) -> Any:
    return next(each for each in ADAPTERS if each.resource.kind == kind)


@pytest.mark.parametrize("adapter", ACCEPTED, ids=lambda adapter: adapter.resource.kind)
def test_every_kind_gets_a_value_that_delegates_it(adapter: Any) -> None:
    found = delegate("train.yaml", manifest(adapter), ADAPTERS)
    assert first(adapter.managed_by_path, found.body) in adapter.managers


def test_ours_is_set_where_any_value_is_accepted_and_kueues_where_the_set_is_closed() -> None:
    job, ray = (delegate("-", manifest(adapter_of(kind)), ADAPTERS).body for kind in ("Job", "RayJob"))
    assert (job["spec"]["managedBy"], ray["spec"]["managedBy"]) == (RELAY, MULTIKUEUE)


def test_a_value_that_delegates_it_is_left() -> None:
    given = manifest(adapter_of("Job"), managedBy=MULTIKUEUE)
    assert delegate("-", given, ADAPTERS).body["spec"]["managedBy"] == MULTIKUEUE


def test_the_manifest_itself_is_not_changed() -> None:
    given = manifest(adapter_of("PyTorchJob"), runPolicy={"suspend": False})
    made = delegate("-", given, ADAPTERS)
    assert given["spec"] == {"runPolicy": {"suspend": False}}
    assert made.body["spec"]["runPolicy"] == {"suspend": False, "managedBy": MULTIKUEUE}


def test_our_value_on_a_closed_kind_is_an_error_that_names_one_that_works() -> None:
    with pytest.raises(RelayError, match=r"spec.managedBy of the RayJob is jobrelay.dev/relay") as caught:
        delegate("ray.yaml", manifest(adapter_of("RayJob"), managedBy=RELAY), ADAPTERS)
    assert caught.value.hint == "remove spec.managedBy, and kueue.x-k8s.io/multikueue is set, or set it to that"


def test_a_kind_that_would_run_twice_is_refused() -> None:
    with pytest.raises(RelayError, match="would run twice") as caught:
        delegate("jax.yaml, document 2", manifest(adapter_of("JAXJob")), ADAPTERS)
    assert "`kubectl create -f jax.yaml`" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("text", "is not a Kubernetes object"),
        ({"kind": "Job"}, "is not a Kubernetes object"),
        ({"apiVersion": "batch/v1", "kind": "Job", "metadata": {}}, "has no name"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, "ConfigMap of v1 is not a kind"),
    ],
)
def test_what_is_no_workload_is_an_error(given: Any, problem: str) -> None:
    with pytest.raises(RelayError, match=problem):
        delegate("a.yaml", given, ADAPTERS)


def test_another_version_of_a_kind_is_created_in_that_version() -> None:
    given = manifest(adapter_of("JobSet")) | {"apiVersion": "jobset.x-k8s.io/v1beta1"}
    assert delegate("-", given, ADAPTERS).resource.version == "v1beta1"
