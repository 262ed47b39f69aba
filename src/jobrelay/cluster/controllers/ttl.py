"""The TTL controller: finished Jobs go some time after they have finished, if they ask for that."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

from jobrelay.apimachinery.times import parse_time
from jobrelay.cluster.controllers.context import Context
from jobrelay.control import Controller, Result
from jobrelay.kube import Key, Object
from jobrelay.kube.errors import Conflict, NotFound
from jobrelay.kube.resource import JOBS


def expires(job: dict[str, Any]) -> dt.datetime | None:
    """When a Job is to be deleted; None while it runs, without a TTL, or when it is being deleted."""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None or job["metadata"].get("deletionTimestamp"):
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return parse_time(condition["lastTransitionTime"]) + dt.timedelta(seconds=ttl)
    return None


def _with_ttl(old: Object | None, new: Object | None) -> Iterable[Key]:
    """Only Jobs that ask for it are looked at: most never do."""
    return (new.key,) if new is not None and b'"ttlSecondsAfterFinished"' in new.raw else ()


def set_up(context: Context) -> None:
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
