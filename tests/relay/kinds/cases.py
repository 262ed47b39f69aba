"""One case for each kind: a small object, what its controller writes as status, and a change that is forwarded.

Everything here is data. A scripted status writer plays `statuses` on the worker, one after the other; the last one ends
the workload, unless the kind never ends. Where there are none, the worker's own controller runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobrelay.workloads import Adapter, load_adapters
from jobrelay.workloads.names import RELAY
from tests.relay.fleets import job
from tests.relay.kinds import renders
from tests.relay.kinds.renders import RenderAdapter

START, END = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
CONTAINERS = [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}]
POD: dict[str, Any] = {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
SPEC = ("spec", "managedBy")
POLICY = ("spec", "runPolicy", "managedBy")


@dataclass(frozen=True, slots=True)
class KindCase:
    """The object apart from its metadata, where its managedBy is, and what happens to it."""

    spec: Mapping[str, Any]
    forward: Mapping[str, Any]
    """A merge patch of the original's spec that its mirror gets as well."""
    statuses: Sequence[Mapping[str, Any]] = ()
    managed_by: tuple[str, ...] = SPEC
    ends: bool = True
    counters: Mapping[str, int] = field(default_factory=dict)
    """What its status has counted before its worker is lost, and must not lose."""
    settings: Callable[[str], Mapping[str, Any]] | None = None
    """A merge patch of the spec by which it names a ConfigMap; None where its containers do that."""
    child: str = ""
    """The kind of the objects that its controller makes of it, if it is one of the table."""

    def body(
        self, adapter: Adapter, value: str | None = RELAY, name: str = "train", *, needs: str = ""
    ) -> dict[str, Any]:
        """An object with this value of managedBy, which `needs` the ConfigMap of this name."""
        resource = adapter.resource
        metadata = {"name": name, "namespace": "default"}
        made: dict[str, Any] = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        spec = dict(self.spec)
        if needs:
            spec = merged(spec, self.settings(needs)) if self.settings is not None else _configured(spec, needs)
        return merged(made | {"spec": spec}, self.change(value) if value is not None else {})

    @property
    def before_end(self) -> Sequence[Mapping[str, Any]]:
        """The statuses while it runs."""
        return self.statuses[:-1] if self.ends else self.statuses

    def change(self, value: str | None) -> dict[str, Any]:
        """A merge patch that sets or removes its managedBy."""
        patch: Any = value
        for name in reversed(self.managed_by):
            patch = {name: patch}
        return dict(patch)


def merged(old: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    both = {key: merged(old[key], patch[key]) for key in old.keys() & patch.keys() if isinstance(patch[key], Mapping)}
    return {**old, **patch, **both}


def _configured(value: Any, name: str) -> Any:
    """The same, with a ConfigMap in the environment of every container and step."""
    if isinstance(value, Mapping):
        found = {key: _configured(each, name) for key, each in value.items()}
        return found | {"envFrom": [{"configMapRef": {"name": name}}]} if "image" in value else found
    return [_configured(each, name) for each in value] if isinstance(value, list) else value


def _trainer_env(name: str) -> dict[str, Any]:
    return {"trainer": {"env": [{"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": name}}}]}}


def _condition(kind: str, reason: str = "Because", status: str = "True") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": END}


def _training(replicas: str, *types: str, child: str = "") -> KindCase:
    """A kind of the training operator v1, or an MPIJob: one pod of each type of replica."""
    counts = {each: {"active": 1} for each in types}
    created, running = _condition("Created"), _condition("Running")
    ended = [created, _condition("Running", status="False"), _condition("Succeeded")]
    return KindCase(
        {replicas: {each: {"replicas": 1, "template": POD} for each in types}, "runPolicy": {}},
        {"runPolicy": {"suspend": True}},
        (
            {"startTime": START, "conditions": [created], "replicaStatuses": {each: {} for each in types}},
            {"startTime": START, "conditions": [created, running], "replicaStatuses": counts},
            {"startTime": START, "completionTime": END, "conditions": ended, "replicaStatuses": counts},
        ),
        POLICY,
        child=child,
    )


def _counted(**counts: int) -> dict[str, Any]:
    return {"name": "w", "active": 0, "ready": 0, "succeeded": 0, "failed": 0, "suspended": 0, **counts}


def _tekton(spec: Mapping[str, Any], cancelled: str, child: str = "") -> KindCase:
    done = _condition("Succeeded", "Succeeded")
    return KindCase(
        spec,
        {"status": cancelled},
        (
            {"startTime": START, "conditions": [_condition("Succeeded", "Running", "Unknown")]},
            {"startTime": START, "completionTime": END, "conditions": [done]},
        ),
        child=child,
    )


_GROUP = {"groupName": "w", "replicas": 1, "rayStartParams": {}, "template": POD}
_CLUSTER = {
    "headGroupSpec": {"rayStartParams": {}, "template": POD},
    "workerGroupSpecs": [_GROUP],
}
_TASK = {"steps": [{"name": "main", "image": "busybox"}]}
_WRAPPED = {
    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "inner"}, "spec": {"template": POD},
}  # fmt: skip
CASES: dict[str, KindCase] = {
    "jobs.batch": KindCase(job()["spec"] | {"managedBy": None}, {"parallelism": 2}),
    "renders.film.example.com": KindCase(
        {"frames": 24},
        {"frames": 25},
        ({}, renders.STARTED, renders.DONE),
        counters={"frames": 12},
        settings=lambda name: {"palette": name},
    ),
    "jobsets.jobset.x-k8s.io": KindCase(
        {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": {"template": POD}}}]},
        {"suspend": True},
        (
            {"restarts": 0, "replicatedJobsStatus": [_counted()]},
            {"restarts": 0, "replicatedJobsStatus": [_counted(active=1, ready=1)]},
            {
                "restarts": 0,
                "replicatedJobsStatus": [_counted(succeeded=1)],
                "conditions": [_condition("Completed", "AllJobsCompleted")],
                "terminalState": "Completed",
            },
        ),
        counters={"restarts": 2},
        child="jobs.batch",
    ),
    "trainjobs.trainer.kubeflow.org": KindCase(
        {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 1}},
        {"suspend": True},
        (
            {"jobsStatus": [_counted(active=1)]},
            {"jobsStatus": [_counted(succeeded=1)], "conditions": [_condition("Complete", "AllJobsCompleted")]},
        ),
        settings=_trainer_env,
        child="jobsets.jobset.x-k8s.io",
    ),
    "pytorchjobs.kubeflow.org": _training("pytorchReplicaSpecs", "Master", "Worker"),
    "tfjobs.kubeflow.org": _training("tfReplicaSpecs", "Chief", "Worker"),
    "xgboostjobs.kubeflow.org": _training("xgbReplicaSpecs", "Master", "Worker"),
    "paddlejobs.kubeflow.org": _training("paddleReplicaSpecs", "Worker"),
    "jaxjobs.kubeflow.org": _training("jaxReplicaSpecs", "Worker"),
    "mpijobs.kubeflow.org": _training("mpiReplicaSpecs", "Launcher", "Worker", child="jobs.batch"),
    "rayjobs.ray.io": KindCase(
        {"entrypoint": "python x.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": _CLUSTER},
        {"suspend": True},
        (
            {"jobDeploymentStatus": "Initializing", "jobId": "j", "rayClusterName": "train-x", "startTime": START},
            {"jobDeploymentStatus": "Running", "jobId": "j", "jobStatus": "RUNNING", "startTime": START},
            {
                "jobDeploymentStatus": "Complete",
                "jobId": "j",
                "jobStatus": "SUCCEEDED",
                "startTime": START,
                "endTime": END,
            },
        ),
        counters={"failed": 1},
        child="rayclusters.ray.io",
    ),
    "rayclusters.ray.io": KindCase(
        _CLUSTER,
        {"workerGroupSpecs": [_GROUP | {"replicas": 2}]},
        ({"conditions": [_condition("HeadPodReady")]}, {"state": "ready", "readyWorkerReplicas": 1}),
        ends=False,
    ),
    "rayservices.ray.io": KindCase(
        {"serveConfigV2": "a: b", "rayClusterConfig": _CLUSTER},
        {"serveConfigV2": "a: c"},
        ({"conditions": [_condition("Ready")]},),
        ends=False,
        child="rayclusters.ray.io",
    ),
    "appwrappers.workload.codeflare.dev": KindCase(
        {"components": [{"template": _WRAPPED}]},
        {"suspend": True},
        (
            {"phase": "Resuming", "conditions": [_condition("QuotaReserved"), _condition("ResourcesDeployed")]},
            {"phase": "Running", "conditions": [_condition("QuotaReserved"), _condition("PodsReady")]},
            {"phase": "Succeeded", "conditions": [_condition("QuotaReserved", "Succeeded", "False")]},
        ),
        counters={"resettingCount": 2},
        child="jobs.batch",
    ),
    "pipelineruns.tekton.dev": _tekton(
        {"pipelineSpec": {"tasks": [{"name": "main", "taskSpec": _TASK}]}}, "Cancelled", "taskruns.tekton.dev"
    ),
    "taskruns.tekton.dev": _tekton({"taskSpec": _TASK}, "TaskRunCancelled"),
}
ADAPTERS: tuple[Adapter, ...] = (*load_adapters(()), RenderAdapter())
"""The kinds that are built in, and that of the tests."""
