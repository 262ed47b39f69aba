"""Where a run makes its Jobs, and how all of it is removed again.

A run works in a namespace of its own, or in one that it is given. All that it makes has a label with the run's name and
an annotation that says until when the run may last. So a later run, or `jobrelay conformance clean`, finds what a
crashed one has left, and does not touch one that is still going.

Cleaning needs no controller that works: pods lose their finalizers here if nobody else takes them away.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from jobrelay.apimachinery.times import TimeError, format_time, parse_time
from jobrelay.kube import Client, Clock, Conflict, Forbidden, NotFound, Object, Resource, merge_patch
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import JOBS, NAMESPACES, PODS, SERVICEACCOUNTS

__all__ = ["RunMarks", "clean", "left_behind", "remove_run", "workspace"]

RUN: Final = "conformance.jobrelay.dev/run"
UNTIL: Final = "conformance.jobrelay.dev/until"
PREFIX: Final = "jobrelay-conformance-"
_ATTEMPTS, _PAUSE = 100, 0.2


@dataclass(frozen=True, slots=True)
class RunMarks:
    """The marks of one run: its name, and until when it may last."""

    name: str
    until: datetime

    @classmethod
    def of(cls, name: str, now: datetime, seconds: float) -> RunMarks:
        return cls(name, now + timedelta(seconds=seconds))

    @property
    def labels(self) -> dict[str, str]:
        return {RUN: self.name}

    @property
    def annotations(self) -> dict[str, str]:
        return {UNTIL: format_time(self.until)}

    @property
    def selector(self) -> str:
        return f"{RUN}={self.name}"


@asynccontextmanager
async def workspace(client: Client, marks: RunMarks, namespace: str | None, clock: Clock) -> AsyncIterator[str]:
    """A namespace for a run, which is empty of it afterwards: also if the run is cancelled or fails."""
    made = namespace or f"{PREFIX}{marks.name}"
    if namespace is None:
        metadata = {"name": made, "labels": marks.labels, "annotations": marks.annotations}
        await client.create(NAMESPACES, {"metadata": metadata})
    try:
        if namespace is None:
            await _ready(client, made, clock)
        yield made
    finally:
        await remove_run(client, marks.name, [made], clock)


async def _ready(client: Client, namespace: str, clock: Clock) -> None:
    """Wait until pods can be created: they need the service account that a controller makes."""
    for _ in range(_ATTEMPTS):
        with suppress(NotFound):
            await client.get(SERVICEACCOUNTS, "default", namespace)
            return
        await sleep(clock, _PAUSE)


async def left_behind(client: Client, now: datetime, *, running: bool = False) -> dict[str, set[str]]:
    """The namespaces with objects of earlier runs, by the name of the run; with `running` also of runs that may still
    be going. What may not be listed is left out."""
    found: dict[str, set[str]] = {}
    for resource in (NAMESPACES, JOBS):
        with suppress(Forbidden):
            for each in (await client.list(resource, label_selector=RUN)).items:
                if running or _over(each, now):
                    found.setdefault(each.metadata.labels[RUN], set()).add(each.namespace or each.name)
    return found


def _over(obj: Object, now: datetime) -> bool:
    """Whether the time of the run that made this object has passed; one that does not say so has none."""
    try:
        return parse_time(obj.metadata.annotations.get(UNTIL, "")) < now
    except TimeError:
        return True


async def clean(client: Client, clock: Clock, *, running: bool = False) -> list[str]:
    """Remove what earlier runs have left; returns their names."""
    found = await left_behind(client, clock.now(), running=running)
    for run, namespaces in found.items():
        await remove_run(client, run, namespaces, clock)
    return sorted(found)


async def remove_run(client: Client, run: str, namespaces: Iterable[str], clock: Clock) -> None:
    """Remove the Jobs and pods of a run, and the namespace if it is the run's own."""
    for namespace in namespaces:
        await asyncio.gather(*(_remove(client, each) for each in await _of(client, JOBS, run, namespace)))
        for _ in range(_ATTEMPTS):
            left = [*await _of(client, JOBS, run, namespace), *await _of(client, PODS, run, namespace)]
            if not left:
                break
            await asyncio.gather(*(_release(client, each) for each in left))
            await sleep(clock, _PAUSE)
        if namespace == f"{PREFIX}{run}":
            await _remove_namespace(client, namespace, clock)


async def _remove_namespace(client: Client, namespace: str, clock: Clock) -> None:
    """Delete a namespace, and wait for its end as long as that takes no longer than usual."""
    with suppress(NotFound):
        for _ in range(_ATTEMPTS):
            with suppress(Conflict):
                await client.delete(NAMESPACES, namespace)
            await sleep(clock, _PAUSE)


async def _of(client: Client, resource: Resource, run: str, namespace: str) -> list[Object]:
    try:
        found = (await client.list(resource, namespace, label_selector=f"{RUN}={run}")).items
    except Forbidden:
        return []
    return list(found)


async def _remove(client: Client, job: Object) -> None:
    with suppress(NotFound, Conflict):
        await client.delete(JOBS, job.name, job.namespace, propagation="Background", uid=job.uid)


async def _release(client: Client, obj: Object) -> None:
    """Take an object's finalizers away and end it; a pod without a kubelet would terminate forever."""
    resource = PODS if obj.decode()["kind"] == PODS.kind else JOBS
    with suppress(NotFound, Conflict):
        if obj.metadata.finalizers and obj.deleting:
            free = merge_patch({"metadata": {"uid": obj.uid, "finalizers": None}})
            await client.patch(resource, obj.name, free, obj.namespace)
        await client.delete(resource, obj.name, obj.namespace, propagation="Background", grace_period=0, uid=obj.uid)
