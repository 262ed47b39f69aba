"""Finds out what a worker admits, by dry runs of Jobs."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.kube import Client, Forbidden, StatusError
from jobrelay.kube.resource import JOBS
from jobrelay.workloads.names import EPOCH, ORIGIN, ORIGIN_NAME, ORIGIN_UID

__all__ = ["is_forbidden", "probe_job"]

_NAME: Final = "jobrelay-check"


def probe_job(namespace: str, origin: str, **container: Any) -> dict[str, Any]:
    """A mirror from `origin` whose container has these fields; without an origin, a Job that is not a mirror."""
    marks = {"labels": {ORIGIN: origin}, "annotations": {ORIGIN_UID: _NAME, ORIGIN_NAME: _NAME, EPOCH: "0"}}
    containers = [{"name": "main", "image": "none", **container}]
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"generateName": f"{_NAME}-", "namespace": namespace, **(marks if origin else {})},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}},
    }


async def is_forbidden(client: Client, job: dict[str, Any]) -> bool:
    """Whether the worker forbids the caller to create such a Job."""
    try:
        await client.create(JOBS, job, dry_run=True)
    except StatusError as error:
        return isinstance(error, Forbidden)
    return False
