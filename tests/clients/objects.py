"""Small objects that several tests send."""

from __future__ import annotations

from typing import Any


def config_map(name: str, data: dict[str, str] | None = None, labels: dict[str, str] | None = None) -> dict[str, Any]:
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"colour": "red"}}


def job(name: str, **spec: Any) -> dict[str, Any]:
    """A suspended Job, so that no controller makes pods of it."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"suspend": True, "template": template, **spec},
    }


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "busybox"}, {"name": "side", "image": "busybox"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": containers, **spec},
    }


def widgets(group: str) -> dict[str, Any]:
    """A definition with a schema, a rule, a status, a scale and a column of its own; `group` makes it unique."""
    spec = {
        "type": "object",
        "description": "What the widget should be.",
        "properties": {
            "size": {"type": "integer", "default": 1, "minimum": 0, "description": "How large."},
            "colour": {"type": "string", "maxLength": 10},
        },
        "x-kubernetes-validations": [{"rule": "self.size < 100", "message": "too large"}],
    }
    status = {"type": "object", "properties": {"size": {"type": "integer"}, "phase": {"type": "string"}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
        "selectableFields": [{"jsonPath": ".spec.colour"}],
    }
    names = {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
        "shortNames": ["wd"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
