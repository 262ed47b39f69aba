"""A real training run: a JobSet of four workers that talk to each other over TCP, as processes of this machine.

    python examples/08_training.py

Needs only this package, and Linux. The JobSet controller of the embedded cluster makes the Jobs, their pods' names and
the volume that they share. `training/worker.py` is what each of them runs. First the JobSet runs on one cluster. Then
it is created on the management cluster of a fleet, and the relay delegates it to a worker.
"""

from __future__ import annotations

import asyncio
import json
import logging
import pathlib
import sys
import tempfile
import time
from typing import Any

import structlog

from jobrelay.cluster import Cluster, NodeSettings
from jobrelay.fleet import MANAGEMENT, ClusterPlan, Fleet, FleetPlan
from jobrelay.kube import Client, Resource, connect
from jobrelay.kube.resource import PODS
from jobrelay.operate.crds import install_definitions, read_definitions

JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
RELAY = "jobrelay.dev/relay"
PROGRAM = pathlib.Path(__file__).parent / "training" / "worker.py"
JOBS, PODS_PER_JOB = 2, 2
PATIENCE = 120.0  # seconds, on a machine with much else to do; a free one needs about 5

Obj = dict[str, Any]


def label(variable: str, name: str) -> Obj:
    """A variable with what JobSet writes into a label of the pod."""
    return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['jobset.sigs.k8s.io/{name}']"}}}


def training(**spec: Any) -> Obj:
    """Two Jobs with two pods each; the first pod of the first Job coordinates."""
    worker = {
        "name": "worker",
        "image": "python",
        "command": [sys.executable, "-c", PROGRAM.read_text()],
        "env": [
            label("JOBSET", "jobset-name"),
            label("JOBSET_UID", "jobset-uid"),
            label("ATTEMPT", "restart-attempt"),
            label("REPLICATED_JOB", "replicatedjob-name"),
            label("JOBS", "replicatedjob-replicas"),
            label("JOB_INDEX", "job-index"),
            label("COORDINATOR", "coordinator"),
            {"name": "PODS_PER_JOB", "value": str(PODS_PER_JOB)},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "RENDEZVOUS", "value": "/rendezvous"},
        ],
        "volumeMounts": [{"name": "rendezvous", "mountPath": "/rendezvous"}],
    }
    job = {
        "parallelism": PODS_PER_JOB,
        "completions": PODS_PER_JOB,
        "backoffLimit": 0,
        "template": {"spec": {"restartPolicy": "Never", "containers": [worker]}},
    }
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Mi"}}}
    return {
        "apiVersion": JOBSETS.api_version,
        "kind": JOBSETS.kind,
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {
            "coordinator": {"replicatedJob": "worker", "jobIndex": 0, "podIndex": 0},
            "failurePolicy": {"maxRestarts": 1},
            "replicatedJobs": [{"name": "worker", "replicas": JOBS, "template": {"spec": job}}],
            "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "rendezvous"}, "spec": claim}]}],
            **spec,
        },
    }


async def run(client: Client, jobset: Obj) -> Obj:
    """Creates the JobSet and waits for its end."""
    name, namespace = jobset["metadata"]["name"], jobset["metadata"]["namespace"]
    version = (await client.create(JOBSETS, jobset)).resource_version
    async with asyncio.timeout(PATIENCE):
        while True:
            async with client.watch(JOBSETS, namespace, resource_version=version) as events:
                async for event in events:
                    version, found = event.object.resource_version, event.object.decode()
                    if event.object.name == name and found.get("status", {}).get("terminalState"):
                        return found


async def coordinator_log(client: Client, jobset: str = "train") -> list[str]:
    """What the coordinating pod has printed, on the cluster where it ran."""
    selector = f"jobset.sigs.k8s.io/jobset-name={jobset},batch.kubernetes.io/job-name={jobset}-worker-0"
    found = (await client.list(PODS, "default", label_selector=selector)).items
    name = next(pod.name for pod in found if pod.name.startswith(f"{jobset}-worker-0-0-"))
    async with client.logs(name, "default") as chunks:
        return b"".join([chunk async for chunk in chunks]).decode().splitlines()


def judge(jobset: Obj, log: list[str]) -> bool:
    """Shows the coordinator's log; whether all is as it should be."""
    print("\n".join(f"  {line}" for line in log))
    result = json.loads(log[-1])
    right = jobset["status"]["terminalState"] == "Completed" and result["workers"] == JOBS * PODS_PER_JOB
    learnt = result["last"] < result["first"] / 100
    print(f"  the loss went from {result['first']:.3f} to {result['last']:.5f}, and all weights are equal")
    return bool(right and learnt)


async def on_one_cluster() -> bool:
    print("One embedded cluster with a JobSet controller:")
    nodes = NodeSettings(runtime="process")
    async with Cluster("training", controllers="all,jobset", nodes=nodes) as cluster:
        client = cluster.client()
        await install_definitions(client, read_definitions(["jobset"]).found)
        finished = await run(client, training())
        return judge(finished, await coordinator_log(client))


async def delegated(folder: pathlib.Path) -> bool:
    print("\nA fleet with two workers, and the relay between them:")
    options = ("--runtime", "process", "--memory", "--controllers", "all,jobset")
    plan = FleetPlan(
        folder,
        (sys.executable, "-P", "-m", "jobrelay.cli.child"),
        ClusterPlan(MANAGEMENT, options),
        (ClusterPlan("worker-1", options), ClusterPlan("worker-2", options)),
        definitions=read_definitions(["jobset"]).found,
    )
    async with Fleet(plan) as fleet, connect(fleet.folder.kubeconfig(MANAGEMENT)) as client:
        finished = await run(client, training(managedBy=RELAY))
        worker = json.loads(finished["metadata"]["annotations"]["jobrelay.dev/assignment"])["cluster"]
        print(f"  created on {MANAGEMENT}, ran on {worker}")
        async with connect(fleet.folder.kubeconfig(worker)) as there:
            return judge(finished, await coordinator_log(there))


async def main() -> int:
    if sys.platform != "linux":
        print("Pods run as processes on Linux only.")
        return 0
    began = time.monotonic()
    right = await on_one_cluster()
    with tempfile.TemporaryDirectory(prefix="jobrelay-training-") as folder:
        right = await delegated(pathlib.Path(folder)) and right
    print(f"\n{'Trained' if right else 'Something went wrong'} ({time.monotonic() - began:.1f} s).")
    return 0 if right else 1


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    raise SystemExit(asyncio.run(main()))
