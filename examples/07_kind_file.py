"""A workload kind of your own that the relay delegates, by a description of 30 lines and no code.

    python examples/07_kind_file.py

The description is kinds/render.yaml. A relay is told of it by an option, or by a ConfigMap:

    jobrelay relay run --kind-file render.yaml
    kubectl -n jobrelay-system create configmap render --from-file render.yaml
    kubectl -n jobrelay-system label configmap render jobrelay.dev/kind-file=true

The kind is `Render`: so many frames of a film. A controller on the worker does the work and counts the frames in the
status. For a kind that needs more than a description can say, see 05_workload_adapter.py.
"""

from __future__ import annotations

import asyncio
import logging
import pathlib
from datetime import UTC, datetime
from typing import Any

import structlog

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Object, merge_patch
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, NAMESPACES
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.settings import Settings
from jobrelay.relay.workers import FlagSource
from jobrelay.workloads import load_adapters, read_kind_file

KIND = read_kind_file(pathlib.Path(__file__).parent / "kinds" / "render.yaml")
RENDERS = KIND.description.api_resource
ARTIST = {"name": "c", "image": "artist:1", "resources": {"requests": {"cpu": "1"}}}
TRAILER = {
    "apiVersion": RENDERS.api_version,
    "kind": RENDERS.kind,
    "metadata": {"name": "trailer", "namespace": "default"},
    "spec": {
        "managedBy": "jobrelay.dev/relay",
        "frames": 24,
        "artists": 2,
        "artist": {
            "spec": {"containers": [{"name": "c", "image": "artist:1", "resources": {"requests": {"cpu": "1"}}}]}
        },
    },
}


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition; the status subresource is what the relay writes to."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"plural": RENDERS.plural, "singular": "render", "kind": RENDERS.kind}
    spec = {"group": RENDERS.group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": str(RENDERS)}, "spec": spec}


def part(obj: Object | None, name: str) -> dict[str, Any]:
    return dict(obj.decode().get(name) or {}) if obj is not None else {}


async def run_renders(worker: Client) -> None:
    """The controller on the worker: renders one frame after the other."""
    async with worker.watch(RENDERS) as events:
        async for event in events:
            one, status = event.object, part(event.object, "status")
            if event.type not in ("ADDED", "MODIFIED") or one is None or "endedAt" in status:
                continue
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            done = status.get("framesDone", -1) + 1
            new = {"phase": "Rendering", "startedAt": status.get("startedAt", now), "framesDone": done}
            if done == part(one, "spec")["frames"]:
                new |= {"phase": "Done", "endedAt": now}
            await worker.patch(RENDERS, one.name, merge_patch({"status": new}), one.namespace, subresource="status")


async def follow(management: Client) -> None:
    """Show the status of the original until it has ended."""
    async with management.watch(RENDERS) as events:
        async for event in events:
            if status := part(event.object, "status"):
                print(f"  original: {status['phase']}, {status['framesDone']} frames done")
                if "endedAt" in status:
                    return


async def main() -> None:
    adapters = load_adapters(given=[KIND])
    print("The relay handles", " and ".join(str(adapter.resource) for adapter in adapters))
    async with Cluster("management") as management, Cluster("worker") as worker:
        for cluster in (management, worker):
            await cluster.client().create(CUSTOMRESOURCEDEFINITIONS, definition())
        home = management.client()
        await home.create(NAMESPACES, {"metadata": {"name": "jobrelay-system"}})
        relay = RelayManager(home, FlagSource({"worker": worker.kubeconfig}), Settings("example"), adapters=adapters)
        await home.create(RENDERS, TRAILER)
        running = [asyncio.create_task(relay.run()), asyncio.create_task(run_renders(worker.client()))]
        async with asyncio.timeout(60):
            await follow(home)
        mirror = await worker.client().get(RENDERS, "trailer", "default")
        print(f"  mirror:   {part(mirror, 'status')['phase']}, with {sorted(part(mirror, 'spec'))}")
        for task in running:
            task.cancel()
        await asyncio.wait(running)


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    asyncio.run(main())
