"""Whatever happens in whatever order, every pod is counted once, no write breaks a rule, and completions are exact.

The machine plays users, kubelets and bad luck: pods end, are deleted, Jobs are scaled and suspended, the controller is
restarted, its caches lag behind, its requests are refused, answered with a conflict, or carried out without an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import hypothesis.strategies as st
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jobrelay.cluster.apiserver.represent import stored
from jobrelay.cluster.controllers.job import set_up
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.cluster.store import Change
from jobrelay.control import ControllerContext
from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kinds.batch.job.status import validate_job_status_update
from jobrelay.kube import FaultyTransport
from jobrelay.kube.fault_injection import AnswerStatus, LoseReply, RefuseConnection
from jobrelay.kube.transport import Request, Response, Transport
from tests.kinds.workloads import is_finished

from ..apiserver.serving import ADMIN
from ..apiserver.serving import MERGE as _MERGE
from .job_world import JOBS, PODS, Jobs
from .running import World

Obj = dict[str, Any]
FAULTS = [RefuseConnection(), LoseReply(), AnswerStatus(409, "Conflict"), AnswerStatus(500, "InternalError")]
REQUESTS = ["POST */pods", "PATCH */pods/*", "PUT */status", "DELETE */pods/*", "GET */pods*"]


class Lagging:
    """Holds back what watches of some resources have to say."""

    def __init__(self, inner: Transport, *resources: str) -> None:
        self._inner = inner
        self.flowing = {name: asyncio.Event() for name in resources or ("jobs", "pods")}
        for event in self.flowing.values():
            event.set()

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        gate = next((event for name, event in self.flowing.items() if f"/{name}?" in request.path), None)
        if gate is None or "watch=true" not in request.path:
            return response
        return Response(response.status, response.headers, _gated(response, gate), response.close)

    def hold(self, resource: str, held: bool) -> None:
        if held:
            self.flowing[resource].clear()
        else:
            self.flowing[resource].set()


async def _gated(response: Response, gate: asyncio.Event) -> AsyncIterator[bytes]:
    async for chunk in response.chunks():
        await gate.wait()
        yield chunk


class Ledger:
    """Watches every write to the Job."""

    def __init__(self) -> None:
        self.counted: set[str] = set()
        self.problems: list[str] = []

    def note(self, change: Change) -> None:
        if change.before is None or change.after is None:
            return
        old, new = stored(change.before.raw), stored(change.after.raw)
        self.problems += map(str, validate_job_status_update(new, old))
        for outcome in ("succeeded", "failed"):
            self._compare(outcome, old, new)

    def _compare(self, outcome: str, old: Obj, new: Obj) -> None:
        before, after = (_uncounted(one, outcome) for one in (old, new))
        left = before - after
        if again := self.counted & (left | (after - before)):
            self.problems.append(f"{again} counted twice as {outcome}")
        self.counted |= left
        if outcome == "succeeded" and new["spec"]["completionMode"] == "Indexed":
            return
        grown = new["status"].get(outcome, 0) - old["status"].get(outcome, 0)
        if grown != len(left):
            self.problems.append(f"{outcome} grew by {grown} for {left}")


def _uncounted(job: Obj, outcome: str) -> set[str]:
    return set((job["status"].get("uncountedTerminatedPods") or {}).get(outcome, []))


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.untouched = True
        self.expected_failures = 0

    def do(self, work: Any) -> Any:
        return self.runner.run(work)

    @initialize(
        completions=st.integers(1, 4), parallelism=st.integers(1, 4), indexed=st.booleans(), per_index=st.booleans()
    )
    def begin(self, completions: int, parallelism: int, indexed: bool, per_index: bool) -> None:
        spec: Obj = {"completions": completions, "parallelism": parallelism, "backoffLimit": 100}
        if indexed:
            spec |= {"completionMode": "Indexed"} | ({"backoffLimitPerIndex": 100} if per_index else {})
        self.completions, self.parallelism, self.indexed = completions, parallelism, indexed
        self.do(self._begin(spec))

    async def _begin(self, spec: Obj) -> None:
        self.world, self.ledger = World(), Ledger()
        self.jobs = Jobs(self.world)
        self.world.server.store.subscribe("jobs.batch", self.ledger.note)
        self.running: asyncio.Task[None] | None = None
        await self._start()
        await self.jobs.create(**spec)

    async def _start(self) -> None:
        inner = InProcessTransport(lambda: self.world.server.api, ADMIN)
        self.lagging = Lagging(inner)
        self.faulty = FaultyTransport(self.lagging, clock=self.world.clock)
        context = ControllerContext(self.faulty, clock=self.world.clock)
        set_up(context)
        self.running = asyncio.create_task(context.manager.run())
        await self.world.pass_()

    async def _stop(self) -> None:
        assert self.running is not None
        self.lagging.hold("jobs", held=False)
        self.lagging.hold("pods", held=False)
        self.running.cancel()
        with suppress(asyncio.CancelledError):
            await self.running

    async def _active(self) -> list[Obj]:
        return [
            pod for pod in await self.jobs.pods()
            if pod["status"]["phase"] not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]
        ]  # fmt: skip

    async def _kill(self, pod: Obj) -> bool:
        path = f"{PODS}/{pod['metadata']['name']}"
        return (await self.world.server.call("DELETE", path, {"gracePeriodSeconds": 0})).code == 200

    @rule(
        number=st.integers(0, 3),
        phase=st.sampled_from(["Running", "Succeeded", "Failed"]),
        age=st.sampled_from([0, 700]),
    )
    def pod_becomes(self, number: int, phase: str, age: int) -> None:
        async def work() -> None:
            pods = await self._active()
            if number < len(pods) and await self.jobs.become(pods[number], phase, finished=age):
                self.expected_failures += phase == "Failed"

        self.do(work())

    @rule(number=st.integers(0, 3))
    def pod_is_deleted(self, number: int) -> None:
        async def work() -> None:
            pods = await self._active()
            if number < len(pods):
                self.expected_failures += await self._kill(pods[number])

        self.do(work())

    @rule(parallelism=st.integers(0, 4))
    def scale(self, parallelism: int) -> None:
        self.untouched = False
        self.do(self.jobs.server.call("PATCH", f"{JOBS}/j", {"spec": {"parallelism": parallelism}}, media=_MERGE))

    @rule(suspend=st.booleans())
    def suspend(self, suspend: bool) -> None:
        self.untouched = False
        self.do(self.jobs.server.call("PATCH", f"{JOBS}/j", {"spec": {"suspend": suspend}}, media=_MERGE))

    @rule(seconds=st.sampled_from([0.0, 0.1, 0.5, 3.0, 15.0]))
    def time_passes(self, seconds: float) -> None:
        self.do(self.world.pass_(seconds))

    @rule(resource=st.sampled_from(["jobs", "pods"]), held=st.booleans())
    def lag(self, resource: str, held: bool) -> None:
        self.lagging.hold(resource, held)

    @rule(fault=st.sampled_from(FAULTS), request=st.sampled_from(REQUESTS))
    def misfortune(self, fault: Any, request: str) -> None:
        self.faulty.add(fault, request)

    @rule()
    def restart(self) -> None:
        async def work() -> None:
            await self._stop()
            await self._start()

        self.do(work())

    @precondition(lambda self: hasattr(self, "ledger"))
    @invariant()
    def nothing_is_wrong(self) -> None:
        assert self.ledger.problems == []
        if self.untouched:
            pods = self.do(self.jobs.pods())
            active = len(self.do(self._active()))
            assert active <= self.parallelism
            assert active + sum(pod["status"]["phase"] == "Succeeded" for pod in pods) <= self.completions

    def teardown(self) -> None:
        try:
            if hasattr(self, "ledger"):
                self.do(self._end())
        finally:
            self.runner.close()

    async def _end(self) -> None:
        """When nothing disturbs it any more, the Job comes to its end."""
        self.faulty.clear()
        for resource in ("jobs", "pods"):
            self.lagging.hold(resource, held=False)
        change = {"spec": {"suspend": False, "parallelism": 2}}
        await self.jobs.server.call("PATCH", f"{JOBS}/j", change, media=_MERGE)
        for _ in range(20):
            await self.world.pass_(700)
            for pod in await self._active():
                await self.jobs.become(pod, "Succeeded")
            for pod in await self.jobs.pods():
                if "deletionTimestamp" in pod["metadata"]:
                    await self._kill(pod)
            await self.world.pass_(5)
            job = await self.world.get(f"{JOBS}/j")
            if is_finished(job):
                break
        pods = await self.jobs.pods()
        await self._stop()
        self.world.server.api.watches.close()
        self._judge(job, pods)

    def _judge(self, job: Obj, pods: list[Obj]) -> None:
        status = job["status"]
        assert self.ledger.problems == []
        assert (status["conditions"][-1]["type"], status["succeeded"]) == ("Complete", self.completions)
        if self.indexed:
            assert len(Indexes.parse(status["completedIndexes"], self.completions)) == self.completions
        if self.untouched:
            succeeded = sum(pod["status"]["phase"] == "Succeeded" for pod in pods)
            assert (succeeded, status.get("failed", 0)) == (self.completions, self.expected_failures)


Histories.TestCase.settings = settings(max_examples=80, stateful_step_count=30, phases=[Phase.generate])
TestHistories = Histories.TestCase
