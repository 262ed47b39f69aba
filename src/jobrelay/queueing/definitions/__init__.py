"""CustomResourceDefinitions of our own for Kueue's kinds.

`kinds.yaml` has the schemas as data, each once for both versions. Definitions that exist already, Kueue's above all,
are left as they are. MultiKueueCluster and MultiKueueConfig are the relay's registry, which installs them itself.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec
import yaml

from jobrelay.kube import AlreadyExists, Client, Clock, Resource, serves
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.queueing.resources import GROUP, KINDS

__all__ = ["ensure_definitions", "make_definitions"]

_ATTEMPTS: Final = 50
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
    old_columns: list[dict[str, Any]] = []
    """Those of v1beta1, where they differ."""
    selectable_fields: list[str] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fragments: dict[str, Any]
    kinds: tuple[_Kind, ...]


@cache
def _kinds() -> tuple[_Kind, ...]:
    content = yaml.safe_load(resources.files(__package__).joinpath("kinds.yaml").read_bytes())
    return msgspec.convert(content, _File).kinds


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
    versions = [_version(kind, "v1beta2"), _version(kind, "v1beta1")]
    return {
        "apiVersion": CUSTOMRESOURCEDEFINITIONS.api_version,
        "kind": CUSTOMRESOURCEDEFINITIONS.kind,
        "metadata": {"name": f"{kind.plural}.{GROUP}", "labels": dict(_LABELS)},
        "spec": {"group": GROUP, "scope": kind.scope, "names": names, "versions": versions},
    }


def _version(kind: _Kind, name: str) -> dict[str, Any]:
    current = name == "v1beta2"
    served: dict[str, Any] = {"name": name, "served": True, "storage": current}
    if not current:
        served["deprecated"] = True
        served["deprecationWarning"] = f"{GROUP}/v1beta1 {kind.kind} is deprecated; use v1beta2"
    if kind.status is not None:
        served["subresources"] = {"status": {}}
    if columns := (kind.columns if current else kind.old_columns or kind.columns):
        served["additionalPrinterColumns"] = columns
    if current and kind.selectable_fields:
        served["selectableFields"] = [{"jsonPath": path} for path in kind.selectable_fields]
    return served | {"schema": {"openAPIV3Schema": _schema(kind, name)}}


def _schema(kind: _Kind, version: str) -> dict[str, Any]:
    """The schema of a version. If that of all versions were equal, API servers would refuse selectable fields."""
    text = {"type": "string"}
    properties: dict[str, Any] = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}, **kind.properties}
    for part, schema in (("spec", kind.spec), ("status", kind.status)):
        if schema is not None:
            properties[part] = {"type": "object", **schema}
    description = f"Kueue's {kind.kind}, with the fields of all its versions, as {version}."
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
