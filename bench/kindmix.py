"""Ten kinds of workloads of one pod: how they are delegated, and what their controllers write as they go.

A controller writes three statuses, as that of Jobs does for a Job of one pod: accepted, running and ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kube import Resource
from jobrelay.kube.resource import JOBS
from jobrelay.workloads.names import MULTIKUEUE

Obj = dict[str, Any]

PROJECTS: Final = ("jobset", "trainer", "training-operator", "mpi-operator", "kuberay", "appwrapper", "tekton")
RUNTIMES: Final = Resource(
    "trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime", namespaced=False
)
_POD: Final[Obj] = {
    "metadata": {"annotations": {"jobrelay.dev/run-seconds": "0"}},
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "registry.example.com/train:1.4", "command": ["python", "train.py"]}],
    },
}
_JOB: Final[Obj] = {"template": _POD}
RUNTIME: Final[Obj] = {
    "apiVersion": RUNTIMES.api_version,
    "kind": RUNTIMES.kind,
    "metadata": {"name": "torch"},
    "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": _JOB}}]}}},
}
"""What the TrainJobs name."""


@dataclass(frozen=True, slots=True)
class MixedKind:
    """A kind; `statuses` are made for a time, and empty where the cluster runs the kind itself."""

    resource: Resource
    spec: Obj
    statuses: Callable[[str], tuple[Obj, ...]] = lambda now: ()
    policy: str = ""
    """The field of the spec that holds managedBy, if that is not in the spec itself."""

    def body(self, name: str) -> Obj:
        """A delegated workload."""
        managed: Obj = {"managedBy": MULTIKUEUE}
        spec = self.spec | ({self.policy: managed} if self.policy else managed)
        head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        return {**head, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def pod(name: str, owner: Mapping[str, Any]) -> Obj:
    """The pod that a controller makes for a workload."""
    metadata = {**_POD["metadata"], "name": f"{name}-0", "ownerReferences": [{**owner, "controller": True}]}
    return {"metadata": metadata, "spec": _POD["spec"]}


def _condition(type_: str, now: str, status: str = "True", reason: str = "AsWritten") -> Obj:
    return {"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": now}


def _training(now: str) -> tuple[Obj, ...]:
    counts = {"replicaStatuses": {"Worker": {"active": 1}}, "startTime": now}
    created, running = _condition("Created", now), _condition("Running", now)
    ended = {"replicaStatuses": {"Worker": {"succeeded": 1}}, "startTime": now, "completionTime": now}
    return (
        {"startTime": now, "conditions": [created], "replicaStatuses": {"Worker": {}}},
        counts | {"conditions": [created, running]},
        ended | {"conditions": [created, running | {"status": "False"}, _condition("Succeeded", now)]},
    )


def _counted(field: str, end: str) -> Callable[[str], tuple[Obj, ...]]:
    def statuses(now: str) -> tuple[Obj, ...]:
        none: Obj = {"name": "node", "active": 0, "failed": 0, "ready": 0, "succeeded": 0, "suspended": 0}
        accepted, running, ended = ([none | {each: 1}] for each in ("active", "ready", "succeeded"))
        return {field: accepted}, {field: running}, {field: ended, "conditions": [_condition(end, now)]}

    return statuses


def _ray(now: str) -> tuple[Obj, ...]:
    accepted = {"jobDeploymentStatus": "Initializing", "jobId": "j", "rayClusterName": "c", "startTime": now}
    running = accepted | {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}
    return accepted, running, running | {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "endTime": now}


def _wrapped(now: str) -> tuple[Obj, ...]:
    reserved = _condition("QuotaReserved", now)
    return (
        {"phase": "Resuming", "conditions": [reserved]},
        {"phase": "Running", "conditions": [reserved, _condition("PodsReady", now)]},
        {"phase": "Succeeded", "conditions": [_condition("QuotaReserved", now, "False")]},
    )


def _tekton(now: str) -> tuple[Obj, ...]:
    accepted = _condition("Succeeded", now, "Unknown", "Started")
    running = accepted | {"reason": "Running"}
    common = {"startTime": now, "podName": "p"}
    return (
        common | {"conditions": [accepted]},
        common | {"conditions": [running]},
        common | {"conditions": [_condition("Succeeded", now, reason="Succeeded")], "completionTime": now},
    )


_WORKER: Final[Obj] = {"Worker": {"replicas": 1, "template": _POD}}
_HEAD: Final[Obj] = {"headGroupSpec": {"rayStartParams": {}, "template": _POD}}
_TASK: Final[Obj] = {"steps": [{"name": "main", "image": "registry.example.com/train:1.4"}]}
_INNER: Final[Obj] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "inner"}, "spec": _JOB}

MIX: Final = (
    MixedKind(JOBS, _JOB),
    MixedKind(
        Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
        {"replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": _JOB}}]},
        _counted("replicatedJobsStatus", "Completed"),
    ),
    MixedKind(
        Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"),
        {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 1}},
        _counted("jobsStatus", "Complete"),
    ),
    MixedKind(
        Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"),
        {"pytorchReplicaSpecs": _WORKER}, _training, "runPolicy",
    ),
    MixedKind(
        Resource("kubeflow.org", "v1", "tfjobs", "TFJob"), {"tfReplicaSpecs": _WORKER}, _training, "runPolicy"
    ),
    MixedKind(
        Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"), {"mpiReplicaSpecs": _WORKER}, _training, "runPolicy"
    ),
    MixedKind(
        Resource("ray.io", "v1", "rayjobs", "RayJob"),
        {"entrypoint": "python train.py", "rayClusterSpec": _HEAD, "submissionMode": "HTTPMode"},
        _ray,
    ),
    MixedKind(
        Resource("workload.codeflare.dev", "v1beta2", "appwrappers", "AppWrapper"),
        {"components": [{"template": _INNER}]}, _wrapped,
    ),
    MixedKind(
        Resource("tekton.dev", "v1", "pipelineruns", "PipelineRun"),
        {"pipelineSpec": {"tasks": [{"name": "main", "taskSpec": _TASK}]}}, _tekton,
    ),
    MixedKind(Resource("tekton.dev", "v1", "taskruns", "TaskRun"), {"taskSpec": _TASK}, _tekton),
)  # fmt: skip
