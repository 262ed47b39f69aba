"""Which pods have the logs of a workload, by label selectors."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kube import Object
from jobrelay.workloads.builtin import built_in_adapters
from jobrelay.workloads.declared import DeclaredAdapter, decode_description

from .declared_kinds import as_object
from .test_descriptions import MINIMAL, error

ADAPTERS = {adapter.resource.kind: adapter for adapter in built_in_adapters()}
BY_STATUS = {"RayService": {"activeServiceStatus": {"rayClusterName": "x-1"}}}


def mirror(status: Any = None) -> Object:
    return as_object({"metadata": {"name": "x", "namespace": "n", "uid": "u"}, "status": status or {}})


@pytest.mark.parametrize("kind", ADAPTERS)
def test_every_built_in_kind_has_a_way_to_its_logs(kind: str) -> None:
    assert all(ADAPTERS[kind].log_selectors(mirror(BY_STATUS.get(kind))))
    assert ADAPTERS[kind].log_selectors(mirror(BY_STATUS.get(kind)))


@pytest.mark.parametrize(
    ("kind", "status", "wanted"),
    [
        ("Job", {}, ("batch.kubernetes.io/controller-uid=u",)),
        ("JobSet", {}, ("jobset.sigs.k8s.io/jobset-uid=u",)),
        ("PipelineRun", {}, ("tekton.dev/pipelineRunUID=u",)),
        ("RayCluster", {}, ("ray.io/cluster=x",)),
        ("RayJob", {}, ("batch.kubernetes.io/job-name=x",)),
        ("RayJob", {"rayClusterName": "x-1"}, ("batch.kubernetes.io/job-name=x", "ray.io/cluster=x-1")),
        ("RayJob", {"rayClusterName": "x,app=y"}, ("batch.kubernetes.io/job-name=x",)),
        ("RayJob", {"rayClusterName": 5}, ("batch.kubernetes.io/job-name=x",)),
        ("RayService", {}, ()),
    ],
)
def test_labels_of_pods_have_the_uid_the_name_or_a_field_of_the_status(
    kind: str, status: Any, wanted: tuple[str, ...]
) -> None:
    assert ADAPTERS[kind].log_selectors(mirror(status)) == wanted


def test_a_kind_that_says_nothing_of_its_pods_has_none() -> None:
    assert DeclaredAdapter(decode_description(MINIMAL, "x")).log_selectors(mirror()) == ()


def test_a_selector_may_not_name_several_fields() -> None:
    told = error(MINIMAL + "pods: {logs: ['a={status.jobs.*.name}']}\n")
    assert told == "render.yaml: pods: 'status.jobs.*.name' may name several fields, and has to name one"
