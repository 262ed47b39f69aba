"""Runs scenarios against the controller of a cluster, some at a time.

The order is: remove what crashed runs have left, make a place to work in, follow Jobs and pods, play the pods if nobody
else does, play the scenarios, and remove everything. A scenario that fails ends early; the others go on.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from jobrelay.conformance.job_under_test import Broken, JobUnderTest, NotApplicable, RunSettings
from jobrelay.conformance.observing import RunObserver
from jobrelay.conformance.playing import PodPlayer, has_nodes
from jobrelay.conformance.result import ConformanceReport, ScenarioResult
from jobrelay.conformance.rules import Level, Violation
from jobrelay.conformance.scenario import Scenario
from jobrelay.conformance.scenarios import SCENARIOS
from jobrelay.conformance.workspace import RunMarks, clean, workspace
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
from jobrelay.kube import Client, Clock, KubeError, SystemClock, server_version
from jobrelay.kube.clock import deadline, sleep

__all__ = ["ConformanceRun", "RunOptions"]

_LINGER: Final = 2.0
"""How long the status of a Job is watched after its scenario."""
_CLEANING: Final = 120.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What to run, and within which bounds.

    - `level`: scenarios and rules above it do not count, and scenarios above it are not played.
    - `only`: names of scenarios; all of the level if it is empty.
    - `namespace`: one that exists, for a controller that does not serve new ones; None makes one.
    - `play_pods`: whether the run plays the pods itself; None means if the cluster has no nodes.
    - `labels`: what the controller's Jobs have to be labelled with, such as the name of a queue.
    - `parallel`: how many scenarios at a time; `timeout`: seconds for all of them; `patience`: for each wait in one.
    """

    managed_by: str = BUILT_IN_CONTROLLER
    level: Level = Level.COMPLETE
    only: frozenset[str] = field(default_factory=frozenset)
    namespace: str | None = None
    play_pods: bool | None = None
    parallel: int = 24
    timeout: float = 600.0
    patience: float = 30.0
    image: str = "busybox"
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def scenarios(self) -> list[Scenario]:
        """What is played."""
        return [each for each in SCENARIOS if each.level <= self.level and (not self.only or each.name in self.only)]


class ConformanceRun:
    """One run; `progress` is called with each result."""

    def __init__(
        self,
        client: Client,
        options: RunOptions,
        *,
        clock: Clock | None = None,
        progress: Callable[[ScenarioResult], None] = lambda result: None,
    ) -> None:
        self._client, self._options, self._progress = client, options, progress
        self._clock = clock or SystemClock()
        self._gate = asyncio.Semaphore(options.parallel)

    async def run(self) -> ConformanceReport:
        """Judge the controller; raises KubeError if the run itself is not possible."""
        options, clock = self._options, self._clock
        began = clock.monotonic()
        version = await server_version(self._client)
        await clean(self._client, clock)
        marks = RunMarks.of(secrets.token_hex(4), clock.now(), options.timeout + _CLEANING)
        async with AsyncExitStack() as stack:
            place = await stack.enter_async_context(workspace(self._client, marks, options.namespace, clock))
            observer = RunObserver(self._client, place, marks.selector, clock)
            await stack.enter_async_context(observer.running())
            if await self._plays_pods():
                names = [each.name for each in options.scenarios]
                player = PodPlayer(self._client, place, marks.name, names, clock)
                await stack.enter_async_context(player.running())
            settings = RunSettings(options.managed_by, place, marks, options.patience, options.image, options.labels)
            results = await self._play_all(observer, settings, began + options.timeout)
        seconds, whole = clock.monotonic() - began, not options.only
        return ConformanceReport(options.managed_by, options.level, results, seconds, whole, version.git_version)

    async def _plays_pods(self) -> bool:
        if self._options.play_pods is not None:
            return self._options.play_pods
        return not await has_nodes(self._client)

    async def _play_all(self, observer: RunObserver, settings: RunSettings, until: float) -> tuple[ScenarioResult, ...]:
        plays: Sequence[asyncio.Task[ScenarioResult]] = [
            asyncio.create_task(self._play(each, observer, settings, until)) for each in self._options.scenarios
        ]
        try:
            return tuple(await asyncio.gather(*plays))
        finally:
            for play in plays:
                play.cancel()
            await asyncio.gather(*plays, return_exceptions=True)

    async def _play(
        self, scenario: Scenario, observer: RunObserver, settings: RunSettings, until: float
    ) -> ScenarioResult:
        async with self._gate:
            began = self._clock.monotonic()
            job = JobUnderTest(scenario.name, self._client, observer, settings)
            broken, skipped, error = await self._outcome(scenario, job, until - began)
            record = observer.record(scenario.name)
            steps = tuple(record.steps) if record is not None else ()
            found = list(record.violations) if record is not None else []
            if broken is not None and not any(each.rule.level <= broken.rule.level for each in found):
                found.append(broken)  # what becomes of a Job is judged only if its statuses were in order
            seconds = self._clock.monotonic() - began
            result = ScenarioResult(scenario, tuple(found), skipped, error, seconds, steps)
        self._progress(result)
        return result

    async def _outcome(
        self, scenario: Scenario, job: JobUnderTest, seconds: float
    ) -> tuple[Violation | None, str, str]:
        """The rule that the scenario found broken, why it was skipped, why it could not be played."""
        try:
            async with deadline(self._clock, seconds):
                await scenario.play(job)
                await sleep(self._clock, _LINGER)
                await job.has_no_pods_left()
                await job.delete()
        except Broken as broken:
            return broken.violation, "", ""
        except NotApplicable as reason:
            return None, str(reason), ""
        except TimeoutError:
            return None, "", f"the run's {self._options.timeout:g} s were over before this scenario had ended"
        except KubeError as error:
            return None, "", str(error)
        return None, "", ""
