"""The TTL-after-finished controller: deletes finished Jobs after their `ttlSecondsAfterFinished`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

from jobrelay.apimachinery.times import parse_time
from jobrelay.control import Controller, ControllerContext, Result
from jobrelay.kube import Key, Object
from jobrelay.kube.errors import Conflict, NotFound
from jobrelay.kube.resource import JOBS


def expires(job: dict[str, Any]) -> dt.datetime | None:
    """When a Job expires; None for a Job that is unfinished, has no TTL, or is being deleted."""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None or job["metadata"].get("deletionTimestamp"):
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return parse_time(condition["lastTransitionTime"]) + dt.timedelta(seconds=ttl)
    return None


def _with_ttl(old: Object | None, new: Object | None) -> Iterable[Key]:
    """Jobs without these bytes have no TTL and need not be decoded; most have none. `reconcile` decides."""
    return (new.key,) if new is not None and b'"ttlSecondsAfterFinished"' in new.raw else ()


def set_up(context: ControllerContext) -> None:
    """Adds the controller, named as in kube-controller-manager: ttl-after-finished-controller."""
    jobs = context.cache(JOBS)

    async def reconcile(key: Key) -> Result | None:
        cached = jobs.get(key)
        end = expires(cached.decode()) if cached is not None else None
        if end is None:
            return None
        left = (end - context.clock.now()).total_seconds()
        if left > 0:
            return Result(requeue_after=left)
        try:
            fresh = await context.client.get(JOBS, key.name, key.namespace)
            if (again := expires(fresh.decode())) is None or again > context.clock.now():
                return None
            await context.client.delete(JOBS, key.name, key.namespace, propagation="Foreground", uid=fresh.metadata.uid)
        except (NotFound, Conflict):
            return None
        return None

    controller: Controller[Key] = Controller("ttl-after-finished-controller", reconcile, clock=context.clock)
    controller.watch(jobs, _with_ttl)
    context.manager.add(controller)
