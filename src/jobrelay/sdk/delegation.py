"""Delegates manifests: sets managedBy to a value that the kind accepts.

Some kinds accept any value there, others only those of a closed set, and where the field is differs. The adapter of a
kind knows both. A value that a user has set is never replaced: it says who else is meant to run the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from jobrelay.kube import Resource
from jobrelay.sdk.errors import RelayError
from jobrelay.workloads import Adapter
from jobrelay.workloads.declared.paths import first, plain, put
from jobrelay.workloads.names import RELAY

__all__ = ["Submission", "delegate", "manager_of"]


@dataclass(frozen=True, slots=True)
class Submission:
    """An object to create: its kind, in the version that its manifest has, and its body with managedBy."""

    adapter: Adapter
    body: Mapping[str, Any]

    @property
    def resource(self) -> Resource:
        return replace(self.adapter.resource, version=self.body["apiVersion"].rpartition("/")[2])

    @property
    def shown(self) -> str:
        """As arguments name it; of a generated name only the first part is known."""
        metadata = self.body["metadata"]
        return (
            f"{self.adapter.resource.kind.lower()}/{metadata.get('name') or metadata.get('generateName', '') + '...'}"
        )


def manager_of(adapter: Adapter) -> str:
    """The value of managedBy that hands an object of this kind to the relay; ours where the kind accepts it."""
    return RELAY if RELAY in adapter.managers else min(adapter.managers)


def delegate(where: str, manifest: Any, adapters: Sequence[Adapter]) -> Submission:
    """A manifest as it is to be created; `where` says in errors where it is from. Raises RelayError."""
    body = _checked(where, manifest)
    adapter = _adapter(where, body, adapters)
    if adapter.runs_anyway:
        raise RelayError(
            f"{where}: the relay does not run a {adapter.resource.kind}, since it would run twice: "
            f"{adapter.runs_anyway}",
            f"create it with `kubectl create -f {where.partition(',')[0]}`: its own controller runs it",
        )
    value = first(adapter.managed_by_path, body)
    if value is None or value == "":
        put(plain(adapter.managed_by_path), body, manager_of(adapter))
    elif value not in adapter.managers:
        raise _other_manager(where, adapter, value)
    return Submission(adapter, body)


def _checked(where: str, manifest: Any) -> dict[str, Any]:
    if not isinstance(manifest, dict) or not isinstance(manifest.get("metadata"), dict):
        raise RelayError(f"{where} is not a Kubernetes object with metadata", "check that it is a manifest")
    metadata = manifest["metadata"]
    if not (metadata.get("name") or metadata.get("generateName")):
        raise RelayError(f"{where} has no name", "set metadata.name, or metadata.generateName for a new one each time")
    return deepcopy(manifest)


def _adapter(where: str, body: Mapping[str, Any], adapters: Iterable[Adapter]) -> Adapter:
    group, kind = str(body.get("apiVersion")).rpartition("/")[0], body.get("kind")
    for adapter in adapters:
        if (adapter.resource.group, adapter.resource.kind) == (group, kind):
            return adapter
    known = ", ".join(sorted(adapter.resource.kind for adapter in adapters))
    raise RelayError(
        f"{where}: {kind} of {body.get('apiVersion')} is not a kind that can be delegated; these can: {known}",
        "create objects of other kinds with `kubectl apply` first; --kind-file FILE describes another workload kind",
    )


def _other_manager(where: str, adapter: Adapter, value: object) -> RelayError:
    kind, path, works = adapter.resource.kind, adapter.managed_by_path, manager_of(adapter)
    accepted = " or ".join(sorted(adapter.managers))
    return RelayError(
        f"{where}: {path} of the {kind} is {value}, which does not delegate it to the relay: that needs {accepted}",
        f"remove {path}, and {works} is set, or set it to that",
    )
