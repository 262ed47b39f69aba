"""Kueue's documented examples, by their manifests, on a cluster whose pods are processes and whose relay admits.

Nothing of a manifest is changed but what its containers run: there are no images, so each runs `true` of this machine.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Resource
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, JOBS
from jobrelay.operate.crds import make_definitions
from jobrelay.queueing.conditions import holds
from jobrelay.queueing.resources import KINDS, WORKLOADS
from jobrelay.queueing.views import WorkloadView
from tests.apimachinery.documents import documents
from tests.queueing.fleets import QueueFleet, queue_fleet

EXAMPLES = Path(__file__).parents[3] / "shared/examples/kueue/v0.19.2"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="no ../shared folder with Kueue's examples beside the repository"),
]
JOBSETS: Final = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
KNOWN: Final = {each.kind: each for each in (*KINDS, JOBS, JOBSETS)}
SETUP: Final = "admin__single-clusterqueue-setup"

RUN: Final = {
    "getting-started__quick-start-job": 1,
    "jobs__sample-job": 1,
    "jobs__sample-job-partial-admission": 1,
    "jobs__sample-jobset": 1,
}
"""Examples that run to their end here, and their numbers of Workloads."""

NO_CONTROLLER: Final = "its controller is not part of an embedded cluster; tests/adopters runs the real one"
NOT_QUEUED: Final = "queues do not admit pods, pod groups, Deployments, StatefulSets or LeaderWorkerSets"
NOT_RUN: Final = {
    **dict.fromkeys(
        (
            "appwrapper__pytorch-sample", "jobs__ray-cluster-sample", "jobs__ray-job-autoscaling-sample",
            "jobs__ray-job-sample", "jobs__ray-service-sample", "jobs__sample-jaxjob", "jobs__sample-mpijob",
            "jobs__sample-paddlejob", "jobs__sample-pytorchjob", "jobs__sample-sparkapplication", "jobs__sample-tfjob",
            "jobs__sample-xgboostjob", "pod-based-workloads__tekton-hello-task",
            "pod-based-workloads__tekton-pipeline-run", "pod-based-workloads__tekton-pipeline",
            "pod-based-workloads__tekton-sleep-task",
        ),
        NO_CONTROLLER,
    ),
    **dict.fromkeys(
        (
            "appwrapper__deployment-sample", "appwrapper__leaderworkerset-sample", "pods-kueue__kueue-pod-group",
            "pods-kueue__kueue-pod", "serving-workloads__sample-deployment",
            "serving-workloads__sample-leaderworkerset-tas", "serving-workloads__sample-leaderworkerset",
            "serving-workloads__sample-statefulset",
        ),
        NOT_QUEUED,
    ),
    "dev__sample-tas-job": "a required topology keeps a Job waiting: tests/queueing/test_topologies.py",
    "tas__sample-job-required": "a required topology keeps a Job waiting: tests/queueing/test_topologies.py",
    "tas__manager-setup": "of two clusters with MultiKueue and topologies",
    "tas__worker-setup": "of two clusters with MultiKueue and topologies",
    "multikueue__multikueue-setup": "of two clusters with MultiKueue: tests/adopters",
    "jobs__sample-scalable-job": "there are no elastic Jobs; as a plain one it has 100 completions, three at a time",
    "dra__sample-dra-rct-job": "there are no resource claims",
    "jobs__sample-cronjob": "its Jobs start with each minute, and clusters here have no virtual time",
}  # fmt: skip
"""Why the others do not."""


def read(name: str) -> list[dict[str, Any]]:
    return list(documents((EXAMPLES / f"{name}.yaml").read_text()))


def runnable(part: Any) -> Any:
    """A manifest whose containers run a command that exists."""
    if isinstance(part, list):
        return [runnable(each) for each in part]
    if not isinstance(part, dict):
        return part
    made = {key: runnable(value) for key, value in part.items()}
    for container in made.get("containers", ()):
        container.pop("args", None)
        container["command"] = ["true"]
    return made


async def create(it: QueueFleet, body: dict[str, Any]) -> str:
    resource = KNOWN[body["kind"]]
    metadata = {"namespace": "default", **body["metadata"]} if resource.namespaced else body["metadata"]
    return (await it.client.create(resource, {**body, "metadata": metadata})).name


async def finished(it: QueueFleet, number: int) -> list[WorkloadView] | None:
    """The Workloads, when there are so many of them and all have ended."""
    found = [each.decode(WorkloadView) for each in (await it.client.list(WORKLOADS, "default")).items]
    ended = [each for each in found if holds(each.status.conditions, "Finished")]
    return found if len(ended) == len(found) == number else None


def test_every_example_is_run_or_has_a_reason() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == {SETUP, *RUN, *NOT_RUN}


@pytest.mark.parametrize("name", RUN)
async def test_an_example_is_admitted_runs_and_ends(name: str) -> None:
    nodes = NodeSettings(runtime="process", cpu="16", memory="64Gi")
    home = {"nodes": nodes, "controllers": "all,jobset"}
    async with queue_fleet(0, webhooks=True, home=home) as it:
        for definition in make_definitions("jobset"):
            await it.client.create(CUSTOMRESOURCEDEFINITIONS, definition)
        for body in [*read(SETUP), *map(runnable, read(name))]:
            await it.it.until(partial(create, it, body))
        for view in await it.it.until(lambda: finished(it, RUN[name])):
            (reason,) = [each.reason for each in view.status.conditions if each.type == "Finished"]
            assert (reason, view.status.admission is not None) == ("Succeeded", True)
