"""Jobs that a worker is asked about and never gets: dry runs that show what its policy lets in."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.kube import Client, Forbidden, StatusError
from jobrelay.kube.resource import JOBS
from jobrelay.relay.names import EPOCH, ORIGIN, ORIGIN_NAME, ORIGIN_UID

__all__ = ["refused", "trial"]

_NAME: Final = "jobrelay-check"


def trial(place: str, origin: str, **container: Any) -> dict[str, Any]:
    """A mirror from `origin` with a container like that; without an origin a Job that is no mirror."""
    marks = {
        "labels": {ORIGIN: origin},
        "annotations": {ORIGIN_UID: _NAME, ORIGIN_NAME: _NAME, EPOCH: "0"},
    }
    containers = [{"name": "main", "image": "none", **container}]
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"generateName": f"{_NAME}-", "namespace": place, **(marks if origin else {})},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}},
    }


async def refused(client: Client, job: dict[str, Any]) -> bool:
    """Whether the worker forbids such a Job."""
    try:
        await client.create(JOBS, job, dry_run=True)
    except Forbidden:
        return True
    except StatusError:
        return False
    return False
