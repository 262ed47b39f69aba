"""Active deadlines, and backoff limits for containers that restart in place."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jobrelay.cluster.controllers.job.pods import restarts
from jobrelay.cluster.controllers.job.views import Job, Pod, Time


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    restart_policy: str = ""


class _Template(msgspec.Struct):
    spec: _Spec = _Spec()


_template = msgspec.json.Decoder(_Template)


def until_deadline(job: Job, start: Time | None, now: Time) -> float | None:
    """Seconds until the active deadline, negative after it; None if none applies."""
    seconds = job.spec.active_deadline_seconds
    if seconds is None or start is None or job.spec.suspend:
        return None
    return seconds - (now - start).total_seconds()


def restarted_too_often(job: Job, pods: Iterable[Pod]) -> bool:
    """Whether the restarts of containers have reached the Job's backoff limit."""
    if _template.decode(job.spec.template).spec.restart_policy != "OnFailure":
        return False
    total = sum(restarts(pod) for pod in pods if pod.status.phase in ("Running", "Pending"))
    return total >= max(job.spec.backoff_limit, 1)
