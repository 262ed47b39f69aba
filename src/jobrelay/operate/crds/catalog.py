"""Definitions of our own for the kinds of well-known projects.

A real project's definition is a megabyte of schema that changes with each release. These are for trying things out:
they have what clients and controllers see of a kind (names, versions, subresources, columns, and the rules about
`managedBy` that are in the schema) and accept everything else. `definitions.yaml` has them as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

import msgspec
import yaml

from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.manifests import LABELS, Manifest, manifest
from jobrelay.queueing.definitions import make_definitions as queue_definitions
from jobrelay.relay.workers.install import crds as registry_definitions

__all__ = ["KNOWN", "make_definitions"]

Schema = dict[str, Any]

KNOWN: Final = ("jobset", "trainer", "training-operator", "mpi-operator", "kuberay", "appwrapper", "tekton", "kueue")
"""The names of the projects."""
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"


class _Column(msgspec.Struct, frozen=True, array_like=True):
    name: str
    type: str
    json_path: str
    priority: int = 0

    def encode(self) -> Manifest:
        shown: Manifest = {"name": self.name, "type": self.type, "jsonPath": self.json_path}
        return shown | ({"priority": self.priority} if self.priority else {})


class _Scale(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    spec: str
    status: str
    selector: str

    def encode(self) -> Manifest:
        paths = {"specReplicasPath": self.spec, "statusReplicasPath": self.status, "labelSelectorPath": self.selector}
        return {"scale": paths}


class _Version(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A served version; with `rules` false, all of its spec is open."""

    name: str
    storage: bool = False
    deprecated: bool = False
    rules: bool = True
    columns: tuple[_Column, ...] = ()


class _Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    kind: str
    plural: str
    versions: tuple[_Version, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    status: bool = True
    scale: _Scale | None = None
    spec: Schema = {}


class _Project(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    group: str
    kinds: tuple[_Kind, ...]


@cache
def _projects() -> Mapping[str, _Project]:
    content = yaml.safe_load(resources.files(__package__).joinpath("definitions.yaml").read_bytes())
    return msgspec.convert(content, dict[str, _Project])


def make_definitions(name: str) -> tuple[Manifest, ...]:
    """The CustomResourceDefinitions of a project in `KNOWN`. Kueue's have whole schemas, since the relay acts on them."""
    if name == "kueue":
        return (
            *queue_definitions(),
            *({**each, "metadata": _own(each["metadata"])} for each in registry_definitions()),
        )
    project = _projects()[name]
    return tuple(_definition(project.group, kind) for kind in project.kinds)


def _own(metadata: Manifest) -> Manifest:
    return {**metadata, "labels": {**metadata.get("labels", {}), **LABELS}}


def _definition(group: str, kind: _Kind) -> Manifest:
    stored = next((version.name for version in kind.versions if version.storage), kind.versions[0].name)
    names = {"kind": kind.kind, "listKind": f"{kind.kind}List", "plural": kind.plural, "singular": kind.kind.lower()}
    more = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    spec = {
        "group": group,
        "scope": kind.scope,
        "names": names | {key: value for key, value in more.items() if value},
        "versions": [_version(kind, version, stored) for version in kind.versions],
    }
    return manifest(CUSTOMRESOURCEDEFINITIONS, f"{kind.plural}.{group}", spec=spec)


def _version(kind: _Kind, version: _Version, stored: str) -> Manifest:
    served: Manifest = {"name": version.name, "served": True, "storage": version.name == stored}
    if version.deprecated:
        served["deprecated"] = True
    properties = {"spec": _opened({"type": "object", **(kind.spec if version.rules else {})})}
    if kind.status:
        properties["status"] = _opened({"type": "object"})
        served["subresources"] = {"status": {}} | (kind.scale.encode() if kind.scale is not None else {})
    if version.columns:
        served["additionalPrinterColumns"] = [column.encode() for column in version.columns]
    return served | {"schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}


def _opened(schema: Schema) -> Schema:
    """A schema whose objects keep fields that it does not list."""
    found = dict(schema)
    if "properties" in found:
        found["type"] = "object"
        found["properties"] = {name: _opened(each) for name, each in found["properties"].items()}
    if "items" in found:
        found["items"] = _opened(found["items"])
    return found | ({_OPEN: True} if found["type"] == "object" else {})
