"""A small custom kind for tests: Renders, whose status a test writes as a worker's controller would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from jobrelay.kube import Object, Resource
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.workloads import (
    MirrorParameters,
    PodSet,
    Reference,
    Urgency,
    Workload,
    WorkloadDemand,
    WorkloadOutcome,
)
from jobrelay.workloads.adapter import NOTHING_FOUND, Found
from jobrelay.workloads.metadata import metadata_patch, mirror_metadata
from jobrelay.workloads.names import MULTIKUEUE, RELAY
from jobrelay.workloads.references import FieldPath

RENDERS = Resource("film.example.com", "v1", "renders", "Render")
NATIVE = "film.example.com/render-controller"
FINALIZER = "film.example.com/cleanup"


class RenderAdapter:
    """Renders; `pending` stands before its start in `spec.status`, as in Tekton's runs."""

    resource = RENDERS
    managed_by_path = "spec.managedBy"
    managers = frozenset({RELAY, MULTIKUEUE})
    native = NATIVE
    enforces_deadline = False

    def __init__(self, runs_anyway: str = "") -> None:
        self.runs_anyway = runs_anyway

    def read(self, obj: Object) -> Workload:
        spec, status = _part(obj, "spec"), _part(obj, "status")
        ended = _time(status, "endedAt")
        return Workload(
            obj.key,
            obj.uid,
            managed_by=spec.get("managedBy"),
            suspended=spec.get("suspend", False),
            started=_time(status, "startedAt"),
            end=WorkloadOutcome(status["phase"] == "Done", ended, status["phase"]) if ended is not None else None,
            deleting=obj.deleting,
        )

    def demand(self, original: Object, found: Found = NOTHING_FOUND) -> WorkloadDemand:
        return WorkloadDemand((PodSet(1, {"cpu": Fraction(1)}, {}),), shape=str(_part(original, "spec")))

    def mirror(self, original: Object, parameters: MirrorParameters) -> dict[str, Any]:
        spec = {key: value for key, value in _part(original, "spec").items() if key not in ("managedBy", "status")}
        metadata = mirror_metadata(original, parameters)
        return {"apiVersion": RENDERS.api_version, "kind": RENDERS.kind, "metadata": metadata, "spec": spec}

    def mirror_patch(self, original: Object, mirror: Object, parameters: MirrorParameters) -> dict[str, Any] | None:
        want, have = _part(original, "spec"), _part(mirror, "spec")
        spec = {key: want.get(key) for key in ("suspend", "frames") if want.get(key) != have.get(key)}
        metadata = metadata_patch(original, mirror, parameters)
        return {name: part for name, part in (("metadata", metadata), ("spec", spec)) if part} or None

    def pod_templates(self, obj: Object) -> list[tuple[FieldPath, Mapping[str, Any]]]:
        return []

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        palette = _part(original, "spec").get("palette")
        named = Reference(CONFIGMAPS, palette, original.namespace, paths=(("spec", "palette"),)) if palette else None
        return (named,) if named is not None else ()

    def original_patch(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        waits = _part(original, "spec").get("status") == "pending" and _part(mirror, "status").get("startedAt")
        return {"spec": {"status": None}} if waits else None

    def merged_status(self, original: Object, mirror: Object) -> dict[str, Any] | None:
        old, seen = _part(original, "status"), _part(mirror, "status")
        new = old | seen | {"frames": max(old.get("frames", 0), seen.get("frames", 0))}
        return new if seen and new != old else None

    def reduced_statuses(self, original: Object, mirror: Object) -> list[dict[str, Any]]:
        return []

    def suspended_status(self, original: Object, now: datetime) -> dict[str, Any] | None:
        return None

    def pod_owner(self, pod: Object) -> str:
        return ""

    def pod_selector(self, mirror: str, shown: Object | None = None) -> str:
        return ""

    def log_selectors(self, mirror: Object) -> tuple[str, ...]:
        return (f"film.example.com/render={mirror.name}",)

    def urgency(self, original: Object, status: Mapping[str, Any]) -> Urgency:
        return Urgency.NOW


def definition(resource: Resource = RENDERS, *, served: bool = True, required: Sequence[str] = ()) -> dict[str, Any]:
    """A definition with an open schema; `served` says whether the version of the adapter is, `required` are fields of
    the spec."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = _RULES | anything | {"required": list(required)}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": anything}}}
    version = {"name": resource.version, "served": served, "storage": True, "schema": schema}
    names = {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind}
    return {
        "metadata": {"name": str(resource)},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [version | {"subresources": {"status": {}}}],
        },
    }


_RULES: dict[str, Any] = {"properties": {"frames": {"type": "integer", "minimum": 1}}}


def render(name: str = "trailer", *, managed_by: str | None = RELAY, **spec: Any) -> dict[str, Any]:
    whole = {"frames": 24, **({"managedBy": managed_by} if managed_by else {}), **spec}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": RENDERS.api_version, "kind": RENDERS.kind, "metadata": metadata, "spec": whole}


STARTED = {"phase": "Running", "startedAt": "2026-01-01T00:00:00Z", "frames": 3}
DONE = STARTED | {"phase": "Done", "frames": 24, "endedAt": "2026-01-01T00:01:00Z"}
FAILED = STARTED | {"phase": "Failed", "frames": 7, "endedAt": "2026-01-01T00:01:00Z"}


def _part(obj: Object, name: str) -> dict[str, Any]:
    return dict(obj.decode().get(name) or {})


def _time(status: Mapping[str, Any], field: str) -> datetime | None:
    return datetime.fromisoformat(status[field]) if status.get(field) else None
