"""A workload kind of your own that the relay delegates: an adapter, tried out on two embedded clusters.

    python examples/05_workload_adapter.py

In a package of yours, `pyproject.toml` registers the adapter, and every relay that is installed beside it uses it:

    [project.entry-points."jobrelay.workloads"]
    render = "my_package.adapters:RenderAdapter"

The kind is `Render`: so many frames of a film. A controller on the worker does the work and counts the frames in the
status.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import EntryPoint
from typing import Any

import structlog

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Object, Resource, merge_patch
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, NAMESPACES
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.settings import Settings
from jobrelay.relay.workers import FlagSource
from jobrelay.workloads import (
    NOTHING_FOUND,
    FieldPath,
    Found,
    MirrorParameters,
    PodSet,
    Reference,
    Urgency,
    Workload,
    WorkloadDemand,
    WorkloadOutcome,
    load_adapters,
)
from jobrelay.workloads.metadata import metadata_patch, mirror_metadata
from jobrelay.workloads.names import RELAY

RENDERS = Resource("film.example.com", "v1", "renders", "Render")


class RenderAdapter:
    """Renders, as the relay sees them. Every method is a pure function of the objects that it is given."""

    resource = RENDERS
    managed_by_path = "spec.managedBy"
    managers = frozenset({RELAY})
    native = ""  # the controller of Renders runs those without managedBy
    runs_anyway = ""  # and leaves all others alone
    enforces_deadline = False  # nobody on the worker stops a Render at a deadline, so Renders cannot be fenced

    def read(self, obj: Object) -> Workload:
        spec, status = _spec(obj), _status(obj)
        started, ended = _time(status, "startedAt"), _time(status, "endedAt")
        outcome = WorkloadOutcome(status["phase"] == "Done", ended, status["phase"]) if ended is not None else None
        return Workload(
            obj.key,
            obj.uid,
            managed_by=spec.get("managedBy"),
            suspended=spec.get("suspend", False),
            started=started,
            end=outcome,
            deleting=obj.deleting,
        )

    def demand(self, original: Object, found: Found = NOTHING_FOUND) -> WorkloadDemand:
        cpus = _spec(original).get("cpus", 1)
        return WorkloadDemand((PodSet(1, {"cpu": Fraction(cpus)}, {}),), shape=f"{original.namespace}, {cpus} cpus")

    def pod_templates(self, obj: Object) -> list[tuple[FieldPath, Mapping[str, Any]]]:
        return []  # a Render has none; what they name would be looked for on workers

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        return ()  # nor does it name other objects itself

    def original_patch(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        return None  # its status may be written at any time

    def mirror(self, original: Object, parameters: MirrorParameters) -> dict[str, Any]:
        spec = {key: value for key, value in _spec(original).items() if key != "managedBy"}
        return render(mirror_metadata(original, parameters), spec)

    def mirror_patch(self, original: Object, mirror: Object, parameters: MirrorParameters) -> dict[str, Any] | None:
        """Users may suspend a Render and change how many frames it has."""
        want, have = _spec(original), _spec(mirror)
        spec = {key: want.get(key) for key in ("suspend", "frames") if want.get(key) != have.get(key)}
        metadata = metadata_patch(original, mirror, parameters)
        return {name: part for name, part in (("metadata", metadata), ("spec", spec)) if part} or None

    def merged_status(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        """The mirror's status, but an end is final, and a second run does not take frames back."""
        old, seen = _status(original), _status(mirror)
        if "endedAt" in old or not seen:
            return None
        new = old | seen | {"framesDone": max(old.get("framesDone", 0), seen.get("framesDone", 0))}
        return new if new != old else None

    def reduced_statuses(self, original: Object, mirror: Object) -> list[dict[str, Any]]:
        return []  # the schema has no rules that could refuse a status

    def suspended_status(self, original: Object, now: datetime) -> dict[str, Any] | None:
        old = _status(original)
        return None if old.get("phase") == "Suspended" else old | {"phase": "Suspended"}

    def pod_owner(self, pod: Object) -> str:
        return ""  # this controller runs no pods; most give them an owner reference to the workload

    def pod_selector(self, mirror: str, shown: Object | None = None) -> str:
        return ""  # nor has it a label for them

    def log_selectors(self, mirror: Object) -> tuple[str, ...]:
        return ()  # or logs

    def urgency(self, original: Object, status: Mapping[str, Any]) -> Urgency:
        return Urgency.SOON if status.get("phase") == _status(original).get("phase") else Urgency.NOW


def render(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": RENDERS.api_version, "kind": RENDERS.kind, "metadata": metadata, "spec": spec}


def _spec(obj: Object) -> dict[str, Any]:
    return dict(obj.decode().get("spec") or {})


def _status(obj: Object) -> dict[str, Any]:
    return dict(obj.decode().get("status") or {})


def _time(status: Mapping[str, Any], field: str) -> datetime | None:
    return datetime.fromisoformat(status[field]) if field in status else None


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition; the status subresource is what the relay writes to."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    return {
        "metadata": {"name": f"{RENDERS.plural}.{RENDERS.group}"},
        "spec": {
            "group": RENDERS.group,
            "scope": "Namespaced",
            "names": {"plural": RENDERS.plural, "singular": "render", "kind": RENDERS.kind},
            "versions": [version],
        },
    }


async def run_renders(worker: Client) -> None:
    """The controller on the worker: renders one frame after the other."""
    async with worker.watch(RENDERS) as events:
        async for event in events:
            one = event.object
            if event.type not in ("ADDED", "MODIFIED") or one is None or "endedAt" in _status(one):
                continue
            status, frames = _status(one), _spec(one)["frames"]
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            done = status.get("framesDone", -1) + 1
            new = {"phase": "Running", "startedAt": status.get("startedAt", now), "framesDone": done}
            if done == frames:
                new |= {"phase": "Done", "endedAt": now}
            patch = merge_patch({"status": new})
            await worker.patch(RENDERS, one.name, patch, one.namespace, subresource="status")


async def follow(management: Client) -> None:
    """Show the status of the original until it has ended."""
    async with management.watch(RENDERS) as events:
        async for event in events:
            status = _status(event.object) if event.object is not None else {}
            if not status:
                continue
            print(f"  original: {status['phase']}, {status['framesDone']} frames done")
            if "endedAt" in status:
                return


async def main() -> None:
    adapters = load_adapters([EntryPoint("render", f"{__name__}:RenderAdapter", "jobrelay.workloads")])
    print("The relay handles", " and ".join(str(adapter.resource) for adapter in adapters))
    async with Cluster("management") as management, Cluster("worker") as worker:
        for cluster in (management, worker):
            await cluster.client().create(CUSTOMRESOURCEDEFINITIONS, definition())
        home = management.client()
        await home.create(NAMESPACES, {"metadata": {"name": "jobrelay-system"}})
        relay = RelayManager(home, FlagSource({"worker": worker.kubeconfig}), Settings("example"), adapters=adapters)
        spec = {"managedBy": RELAY, "frames": 24, "cpus": 4}
        await home.create(RENDERS, render({"name": "trailer", "namespace": "default"}, spec))
        running = [asyncio.create_task(relay.run()), asyncio.create_task(run_renders(worker.client()))]
        async with asyncio.timeout(60):
            await follow(home)
        mirror = await worker.client().get(RENDERS, "trailer", "default")
        print(f"  mirror:   {_status(mirror)['phase']}, spec {_spec(mirror)}")
        for task in running:
            task.cancel()
        await asyncio.wait(running)


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    asyncio.run(main())
