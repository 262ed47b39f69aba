"""Two embedded clusters at work: what they accept, what they refuse, and in which words.

    python examples/04_managed_jobs.py

Needs only this package. If kubectl is on PATH, it is used to look at the clusters; otherwise our own client is.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
import time
from collections.abc import Mapping
from typing import Any

import structlog

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Forbidden, Invalid, Resource, StatusError, connect, merge_patch
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, JOBS, NAMESPACES

RELAY = "jobrelay.dev/relay"
BACKUPS = Resource("demo.jobrelay.dev", "v1", "backups", "Backup")
COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ
BOLD, GREEN, RED, PLAIN = ("\033[1m", "\033[32m", "\033[31m", "\033[0m") if COLOURS else ("", "", "", "")


def title(text: str) -> None:
    print(f"\n{BOLD}{text}{PLAIN}")


def accepted(text: str) -> None:
    print(f"  {GREEN}accepted{PLAIN}  {text}")


def refused(text: str, error: StatusError) -> None:
    print(f"  {RED}refused{PLAIN}   {text}\n            {error.code} {error.reason}: {error}")


def job(name: str, **spec: Any) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox", "command": ["true"]}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": pod}, **spec},
    }


def backup_definition() -> dict[str, Any]:
    spec = {
        "type": "object",
        "properties": {"keep": {"type": "integer"}, "atMost": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.keep <= self.atMost", "message": "keep may not exceed atMost"}],
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.demo.jobrelay.dev"},
        "spec": {
            "group": "demo.jobrelay.dev",
            "scope": "Namespaced",
            "names": {"plural": "backups", "singular": "backup", "kind": "Backup"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


async def look_around(cluster: Cluster, client: Client) -> None:
    title("1. Anything that speaks Kubernetes can look at them")
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        names = [item.name for item in (await client.list(NAMESPACES)).items]
        print(f"  namespaces: {', '.join(names)}   (kubectl is not on PATH, so our own client asked)")
        return
    arguments = [kubectl, "--kubeconfig", str(cluster.kubeconfig), "get", "namespaces"]
    print(f"  $ kubectl --kubeconfig {cluster.kubeconfig} get namespaces", flush=True)
    process = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    print("".join(f"  {line}\n" for line in output.decode().splitlines()), end="")


async def hand_over(client: Client) -> None:
    title("2. A Job can name who manages it, and only when it is created")
    made = await client.create(JOBS, job("train", managedBy=RELAY))
    accepted(f"Job train, spec.managedBy: {made.decode()['spec']['managedBy']}")
    await attempt(client, {"spec": {"managedBy": "example.com/other"}}, "a change of spec.managedBy", subresource=None)


async def attempt(client: Client, change: Mapping[str, Any], what: str, subresource: str | None = "status") -> None:
    """Patches the Job and shows the API server's verdict."""
    try:
        await client.patch(JOBS, "train", merge_patch(dict(change)), "default", subresource=subresource)
        accepted(what)
    except Invalid as error:
        refused(what, error)


def condition(kind: str, now: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now}


async def write_status(client: Client) -> None:
    title("3. Whoever manages a Job must write a status that makes sense")
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    complete = [condition("SuccessCriteriaMet", now), condition("Complete", now)]
    await attempt(client, {"status": {"startTime": now, "active": 1}}, "started, one pod is active")
    await attempt(client, {"status": {"conditions": complete[1:], "completionTime": now}}, "complete too early")
    finished = {"active": None, "succeeded": 1, "completionTime": now, "conditions": complete}
    await attempt(client, {"status": finished}, "finished, one pod succeeded")
    await attempt(client, {"status": {"conditions": None}}, "never mind, it is not finished")


async def extend(client: Client) -> None:
    title("4. Custom resources, with rules in CEL")
    await client.create(CUSTOMRESOURCEDEFINITIONS, backup_definition())
    accepted("CustomResourceDefinition backups.demo.jobrelay.dev")
    for keep in (3, 9):
        metadata = {"name": f"keep-{keep}", "namespace": "default"}
        body = {"apiVersion": "demo.jobrelay.dev/v1", "kind": "Backup", "metadata": metadata}
        try:
            await client.create(BACKUPS, body | {"spec": {"keep": keep, "atMost": 5}})
            accepted(f"Backup keep-{keep}, at most 5")
        except Invalid as error:
            refused(f"Backup keep-{keep}, at most 5", error)


async def follow(client: Client) -> None:
    title("5. A watch shows every change once (on the second cluster)")
    version = (await client.list(JOBS)).resource_version
    async with client.watch(JOBS, resource_version=version) as events:
        await client.create(JOBS, job("mirror", suspend=True))
        await client.patch(JOBS, "mirror", merge_patch({"spec": {"suspend": False}}), "default")
        await client.delete(JOBS, "mirror", "default", propagation="Background")
        for _ in range(3):
            event = await anext(events)
            if event.object is not None:
                suspended = event.object.decode()["spec"]["suspend"]
                print(f"  {event.type:<9} Job {event.object.name}, suspend: {str(suspended).lower()}")


async def ask_as_someone(cluster: Cluster) -> None:
    title("6. Permissions are checked for everyone")
    try:
        await cluster.client("alice").list(JOBS, "default")
    except Forbidden as error:
        refused("alice lists Jobs", error)


async def main() -> None:
    began = time.monotonic()
    print("Starting two embedded clusters in this process ...")
    async with Cluster("management") as management, Cluster("worker") as worker:
        for cluster in (management, worker):
            print(f"  {cluster.name:<10} ready {cluster.url}")
        print(f"  after {time.monotonic() - began:.1f} s")
        async with connect(management.kubeconfig) as first, connect(worker.kubeconfig) as second:
            await look_around(management, first)
            await hand_over(first)
            await write_status(first)
            await extend(first)
            await follow(second)
            await ask_as_someone(management)
    title("What to do next")
    print("  .venv/bin/jobrelay cluster start dev      a cluster that stays; Ctrl-C ends it, its data is kept")
    print("  kubectl --kubeconfig ~/.local/state/jobrelay/dev.kubeconfig create job hi --image=busybox -- true")
    print("  docs/guides/                              how to use clusters on a laptop and in tests")
    print(f"\nBoth clusters are stopped and nothing is left of them ({time.monotonic() - began:.1f} s).")


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    asyncio.run(main())
