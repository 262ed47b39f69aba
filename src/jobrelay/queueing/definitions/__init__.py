"""CustomResourceDefinitions of our own for Kueue's kinds.

The schemas are data: what Kueue's own accept, default and refuse, in each version. Definitions that exist already,
Kueue's above all, are left as they are. MultiKueueCluster and MultiKueueConfig are the relay's registry, which installs
them itself.

v1beta2 is stored. A kind whose fields are the same in v1beta1 is served as both. One that has to be converted is served
as v1beta1 where the relay converts (`webhooks.converting`): an API server without it would take fields away.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec
import yaml

from jobrelay.apimachinery.patch.merge import apply_merge_patch
from jobrelay.kube import AlreadyExists, Client, Clock, Resource, serves
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.queueing.conversions import CONVERTED, NEW, OLD
from jobrelay.queueing.resources import GROUP, KINDS

__all__ = ["ensure_definitions", "make_definitions"]

_ATTEMPTS: Final = 50
_FILES: Final = ("fragments.yaml", "queues.yaml", "workloads.yaml", "others.yaml")
_LABELS: Final = {"app.kubernetes.io/part-of": "jobrelay", "app.kubernetes.io/managed-by": "jobrelay"}


class _Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    kind: str
    plural: str
    short_names: tuple[str, ...]
    scope: str = "Cluster"
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None
    properties: dict[str, Any] = {}
    """Fields beside spec and status."""
    required: list[str] = []
    rules: list[dict[str, Any]] = []
    """Rules about spec and status together."""
    columns: list[dict[str, Any]] = []
    selectable_fields: list[str] = []
    v1beta1: dict[str, Any] = {}
    """A merge patch to what v1beta2 has."""

    @property
    def old(self) -> _Kind:
        """The kind as it is in v1beta1."""
        return msgspec.convert(apply_merge_patch(msgspec.to_builtins(self), self.v1beta1), _Kind)


@cache
def _kinds() -> tuple[_Kind, ...]:
    folder = resources.files(__package__)
    fragments, *files = (folder.joinpath(name).read_text() for name in _FILES)
    content = yaml.safe_load("\n".join([fragments, "kinds:", *files]))
    return msgspec.convert(content["kinds"], tuple[_Kind, ...])


def make_definitions() -> list[dict[str, Any]]:
    """The definitions of all kinds but those of the relay's registry."""
    return [_definition(kind) for kind in _kinds()]


def _definition(kind: _Kind) -> dict[str, Any]:
    names = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "shortNames": list(kind.short_names),
    }
    new, old = _version(kind, NEW, storage=True), _version(kind.old, OLD, served=kind.kind not in CONVERTED)
    old["deprecated"] = True
    old["deprecationWarning"] = f"{GROUP}/{OLD} {kind.kind} is deprecated; use {NEW}"
    if kind.selectable_fields:
        new["selectableFields"] = [{"jsonPath": path} for path in kind.selectable_fields]
    return {
        "apiVersion": CUSTOMRESOURCEDEFINITIONS.api_version,
        "kind": CUSTOMRESOURCEDEFINITIONS.kind,
        "metadata": {"name": f"{kind.plural}.{GROUP}", "labels": dict(_LABELS)},
        "spec": {"group": GROUP, "scope": kind.scope, "names": names, "versions": [new, old]},
    }


def _version(kind: _Kind, name: str, *, storage: bool = False, served: bool = True) -> dict[str, Any]:
    version: dict[str, Any] = {"name": name, "served": served, "storage": storage}
    if kind.status is not None:
        version["subresources"] = {"status": {}}
    if kind.columns:
        version["additionalPrinterColumns"] = kind.columns
    return version | {"schema": {"openAPIV3Schema": _schema(kind, name)}}


def _schema(kind: _Kind, version: str) -> dict[str, Any]:
    text = {"type": "string"}
    properties: dict[str, Any] = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}, **kind.properties}
    for part, schema in (("spec", kind.spec), ("status", kind.status)):
        if schema is not None:
            properties[part] = {"type": "object", **schema}
    description = f"Kueue's {kind.kind} as {version}."
    whole: dict[str, Any] = {"type": "object", "description": description, "properties": properties}
    if kind.required:
        whole["required"] = kind.required
    if kind.rules:
        whole["x-kubernetes-validations"] = kind.rules
    return whole


async def ensure_definitions(client: Client, clock: Clock) -> list[str]:
    """Create those definitions that are absent and wait until they are served; returns the names of the new ones."""
    created = [each["metadata"]["name"] for each in make_definitions() if await _create(client, each)]
    for _ in range(_ATTEMPTS):
        if not created or await _all_served(client, KINDS):
            break
        await sleep(clock, 0.1)
    return created


async def _create(client: Client, body: dict[str, Any]) -> bool:
    with suppress(AlreadyExists):
        await client.create(CUSTOMRESOURCEDEFINITIONS, body)
        return True
    return False


async def _all_served(client: Client, kinds: tuple[Resource, ...]) -> bool:
    return all([await serves(client, kind) for kind in kinds])
