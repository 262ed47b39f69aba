"""Paths and small objects that many scenarios share."""

from __future__ import annotations

import copy
from typing import Any

Object = dict[str, Any]

CORE = "/api/v1/namespaces/{{ns}}"
JOBS = "/apis/batch/v1/namespaces/{{ns}}/jobs"
CRONJOBS = "/apis/batch/v1/namespaces/{{ns}}/cronjobs"
PODS = f"{CORE}/pods"
CONFIGMAPS = f"{CORE}/configmaps"
SECRETS = f"{CORE}/secrets"
SERVICES = f"{CORE}/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{{ns}}/deployments"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{{ns}}/leases"

IMAGE = "img:1"
VERSION = (("major",), ("minor",), ("gitVersion",), ("gitTreeState",), ("platform",))
"""What /version says on both servers, for scenarios that are about who may read it."""


def pod_spec(**more: Any) -> Object:
    return {"containers": [{"name": "c", "image": IMAGE}], **more}


def pod(name: str = "p", **spec: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec(**spec)}


def container(**fields: Any) -> Object:
    return {"name": "c", "image": IMAGE, **fields}


def job(name: str = "j", template: Object | None = None, **spec: Any) -> Object:
    """A Job that the built-in controller leaves alone."""
    body: Object = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}}
    default = {"spec": pod_spec(restartPolicy="Never")}
    body["spec"] = {"managedBy": "example.com/x", "template": default if template is None else template, **spec}
    return body


def cronjob(name: str = "cj", **spec: Any) -> Object:
    template = {"spec": {"template": {"spec": pod_spec(restartPolicy="Never")}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": template, **spec},
    }


def configmap(name: str = "cm", **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data or {"k": "v"}}


def deployment(name: str = "d", **spec: Any) -> Object:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec()},
            **spec,
        },
    }


def service(name: str = "s", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}], **spec},
    }


def without(body: Object, *path: str) -> Object:
    """A copy without one nested key."""
    changed = copy.deepcopy(body)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner.pop(path[-1], None)
    return changed


def having(body: Object, value: Any, *path: str | int) -> Object:
    """A copy with one nested key set."""
    changed = copy.deepcopy(body)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner.setdefault(key, {}) if isinstance(key, str) else inner[key]
    inner[path[-1]] = value
    return changed


def metadata(body: Object, **fields: Any) -> Object:
    changed = copy.deepcopy(body)
    changed.setdefault("metadata", {}).update(fields)
    return changed


def variants(base: Object, changes: list[tuple[tuple[str | int, ...], Any]]) -> list[Object]:
    """One copy of the base per change, each with a name of its own."""
    return [having(metadata(base, name=f"v{n}"), value, *path) for n, (path, value) in enumerate(changes)]


def cases(*bodies: Any) -> tuple[Any, ...]:
    """Bodies of many shapes in a row."""
    return bodies
