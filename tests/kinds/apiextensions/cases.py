"""Recorded answers of a real v1.35.4 API server, and small builders for the tests of custom resources."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jobrelay.apimachinery.field import FieldError
from jobrelay.kinds.apiextensions.strategy import CustomKind, custom_kind

DATA = Path(__file__).parent / "data"
Obj = dict[str, Any]


def recorded(name: str) -> Obj:
    found: Obj = json.loads((DATA / f"crd_{name}.json").read_text())
    return found


def causes(errors: Iterable[FieldError]) -> list[list[str]]:
    """Errors as the recorded answers have them: each once, sorted."""
    return sorted({(e.reason, e.field, e.body()): [e.reason, e.field, e.body()] for e in errors}.values())


def definition(schema: Obj, *, kind: str = "Rig", **version: Any) -> Obj:
    """A CustomResourceDefinition with one version, v1."""
    plural = kind.lower() + "s"
    found = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.a.example.com"},
        "spec": {
            "group": "a.example.com",
            "names": {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Cluster",
            "versions": [found],
        },
    }


def kind_of(schema: Obj, **more: Any) -> CustomKind:
    return custom_kind(definition(schema, **more), "v1")


def spec_kind(more: Obj | None = None, **properties: Any) -> CustomKind:
    """A kind whose spec has these properties."""
    spec = {"type": "object", "properties": properties, **(more or {})}
    return kind_of({"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}})


def rig(spec: Any, **more: Any) -> Obj:
    return {"apiVersion": "a.example.com/v1", "kind": "Rig", "metadata": {"name": "a"}, "spec": spec, **more}


def made(kind: CustomKind, obj: Obj) -> Obj:
    """An object as it is after decoding, defaulting and the create hook."""
    decoded, _ = kind.decode(obj)
    kind.default(decoded)
    kind.prepare_create(decoded)
    return decoded


def create_texts(kind: CustomKind, spec: Any) -> list[str]:
    return [error.text() for error in kind.validate_create(made(kind, rig(spec)))]
