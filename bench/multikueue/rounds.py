"""One round: Jobs of one pod that ends at once are submitted together, by so many clients as a script has.

A round ends when Kueue has finished the last Workload; it is cleared when nothing of these Jobs is left on the worker.
Both are seen by watches. In the round that measures Kueue alone, the Jobs are over when they are admitted: their check
is set ready at once, by this process, and nobody runs them.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Final

from bench.multikueue.audit import Write
from bench.multikueue.stage import MANAGEMENT, PLAIN, QUEUED, Stage
from bench.process import Cluster
from bench.relayfleet import RelayProcess, relay
from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Cache, Client, Conflict, NotFound, Object, Resource, SystemClock, merge_patch
from jobrelay.kube.resource import JOBS, PODS
from jobrelay.relay.multikueue.views import CHECKS, READY, WORKLOADS
from tests.adopters.kueues import KUEUE, ORIGIN, is_true, queued_job

SECONDS: Final = 600.0
_CLIENTS: Final = 20
_AT_ONCE: Final = "bench.jobrelay.dev/at-once"
WARM_UP: Final = 5


@dataclass(frozen=True)
class Round:
    """Who dispatches, and to which worker; neither the relay nor Kueue, if there is none."""

    name: str
    worker: str
    relay: bool = True


MULTIKUEUE: Final = Round("MultiKueue, worker with Kueue", QUEUED, relay=False)
BESIDE: Final = Round("relay, worker with Kueue", QUEUED)
ON_PLAIN: Final = Round("relay, plain worker", PLAIN)
ALONE: Final = Round("Kueue alone, admission only", "", relay=False)
ROUNDS: Final = (MULTIKUEUE, BESIDE, ON_PLAIN, ALONE)


@dataclass(frozen=True)
class Result:
    """Seconds until the last Job was over and until nothing was left of them, with CPU and writes until then."""

    jobs: int
    seconds: float
    cleared: float
    cpu: dict[str, float]
    writes: dict[str, Counter[Write]]
    reads: int
    """Of the relay: all its GETs, watches included."""

    @property
    def rate(self) -> float:
        return self.jobs / self.seconds

    @property
    def cpu_each(self) -> float:
        """Milliseconds of CPU for each Job, of all processes."""
        return sum(self.cpu.values()) / self.jobs * 1e3


async def play(stage: Stage, one: Round, jobs: int, prefix: str) -> Result:
    """Play one round on a stage that is empty, and leave it empty."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(stage.it.kueue(multikueue=one is MULTIKUEUE))
        ours = stack.enter_context(_relay(stage) if one.relay else nullcontext(None))
        over = "Finished" if one.worker else "Admitted"
        if one.worker:
            await stage.it.name_workers(one.worker)
        await _use(stage.it.home, _AT_ONCE if not one.worker else "")
        workloads = await stack.enter_async_context(_watched(stage.it.home, WORKLOADS))
        if not one.worker:
            stack.callback(workloads.subscribe(_ReadyAtOnce(stage.it.home).changed))
        left = [await stack.enter_async_context(_watched(stage.it.clients[one.worker], each)) for each in _left(one)]
        await _run(stage, workloads, left, f"{prefix}-first", WARM_UP, over)
        since, spent, read = stage.positions(), _cpu(stage, ours), _reads(ours)
        seconds, cleared = await _run(stage, workloads, left, f"{prefix}-job", jobs, over)
        cpu = {name: value - spent.get(name, 0.0) for name, value in _cpu(stage, ours).items()}
        writes, reads = stage.writes(since), _reads(ours) - read
        await _empty(stage.it.home, workloads)
        return Result(jobs, seconds, cleared, cpu, writes, reads)


def _relay(stage: Stage) -> Any:
    """The relay with its defaults, but for queues of its own: this Kueue holds no lease by which it could be known."""
    plane = stage.planes[MANAGEMENT]
    home = Cluster(MANAGEMENT, plane.url, str(plane.kubeconfig))
    return relay(home, [], "--namespace", KUEUE, "--origin", ORIGIN, "--keep-finished", "0s", "--queueing", "off")


def _left(one: Round) -> tuple[Resource, ...]:
    """What must not be left on the worker."""
    return {QUEUED: (JOBS, PODS, WORKLOADS), PLAIN: (JOBS, PODS), "": ()}[one.worker]


def _cpu(stage: Stage, ours: RelayProcess | None) -> dict[str, float]:
    return stage.cpu() | ({"relay": ours.cpu()} if ours is not None else {})


def _reads(ours: RelayProcess | None) -> int:
    return sum(number for (_, verb), number in ours.calls().items() if verb == "GET") if ours is not None else 0


async def _run(
    stage: Stage, workloads: Cache, left: list[Cache], prefix: str, jobs: int, over: str
) -> tuple[float, float]:
    began = time.perf_counter()
    names = iter([f"{prefix}-{number}" for number in range(jobs)])

    async def submit() -> None:
        for name in names:
            await stage.it.home.create(JOBS, queued_job(name, seconds=0, cpu="1m"))

    await asyncio.gather(*(submit() for _ in range(_CLIENTS)))
    await _until(workloads, lambda: sum(_is_over(each, prefix, over) for each in workloads) == jobs)
    seconds = time.perf_counter() - began
    for cache in left:
        await _until(cache, lambda cache=cache: not any(prefix in each.name for each in cache))  # type: ignore[misc]
    return seconds, time.perf_counter() - began


def _is_over(workload: Object, prefix: str, over: str) -> bool:
    owner = workload.metadata.controller
    mine = owner is not None and owner.name.startswith(prefix)
    return mine and is_true(workload.decode().get("status", {}), over) is not None


async def _until(cache: Cache, holds: Callable[[], bool]) -> None:
    """Wait until something holds of what is watched."""
    changed = asyncio.Event()
    stop = cache.subscribe(lambda old, new: changed.set())
    try:
        async with asyncio.timeout(SECONDS):
            while not holds():
                changed.clear()
                await changed.wait()
    finally:
        stop()


@asynccontextmanager
async def _watched(client: Client, resource: Resource) -> AsyncIterator[Cache]:
    cache = Cache(client, resource, "default")
    running = asyncio.create_task(cache.run())
    try:
        await cache.wait_synced()
        yield cache
    finally:
        running.cancel()
        await asyncio.wait({running})


async def _use(home: Client, controller: str) -> None:
    """Have the queue use a check of MultiKueue, or one that is set ready at once."""
    name = "at-once" if controller else "mk"
    if controller:
        body = {"metadata": {"name": name}, "spec": {"controllerName": controller}}
        made = await home.create(CHECKS, {"apiVersion": CHECKS.api_version, "kind": CHECKS.kind, **body})
        now = format_time(SystemClock().now())
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": now}
        await home.patch(CHECKS, made.name, merge_patch({"status": {"conditions": [active]}}), subresource="status")
    spec = {"admissionChecksStrategy": {"admissionChecks": [{"name": name}]}}
    queues = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False)
    await home.patch(queues, "shared", merge_patch({"spec": spec}))


class _ReadyAtOnce:
    """The fastest controller of a check that there can be: it says Ready as soon as quota is reserved."""

    def __init__(self, home: Client) -> None:
        self._home, self._running = home, set[asyncio.Task[None]]()

    def changed(self, old: Object | None, new: Object | None) -> None:
        status = new.decode().get("status", {}) if new is not None else {}
        checks = status.get("admissionChecks") or []
        if new is not None and is_true(status, "QuotaReserved") and any(each["state"] != READY for each in checks):
            task = asyncio.get_running_loop().create_task(self._ready(new, checks))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _ready(self, workload: Object, checks: list[dict[str, Any]]) -> None:
        known = {"resourceVersion": workload.resource_version}
        ready = [{**each, "state": READY, "message": "at once"} for each in checks]
        patch = merge_patch({"metadata": known, "status": {"admissionChecks": ready}})
        with suppress(Conflict, NotFound):  # the watch reports what it is now
            await self._home.patch(WORKLOADS, workload.name, patch, workload.namespace, subresource="status")


async def _empty(home: Client, workloads: Cache) -> None:
    """Remove all Jobs, and wait until their Workloads are gone too."""
    for job in (await home.list(JOBS, "default")).items:
        with suppress(NotFound):
            await home.delete(JOBS, job.name, job.namespace, propagation="Background")
    await _until(workloads, lambda: not list(workloads))
