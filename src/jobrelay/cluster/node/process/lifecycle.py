"""Lifecycle hooks and probes of a running container."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from jobrelay.cluster.node.containerrun import ContainerRun
from jobrelay.cluster.node.process.podsandbox import PodSandbox
from jobrelay.cluster.node.process.probes import Execute, ProbeThresholds, http_get, run_probe


class ContainerLifecycle:
    """Runs the hooks and probes of a container; `end_run` ends its current run within a grace period."""

    def __init__(
        self, pod: PodSandbox, spec: Mapping[str, Any], run: ContainerRun, started: asyncio.Event, execute: Execute,
        end_run: Callable[[float], Awaitable[None]],
    ) -> None:  # fmt: skip
        self._pod, self._spec, self._run, self._started = pod, spec, run, started
        self._execute, self._end_run = execute, end_run

    async def post_start(self) -> None:
        """Runs the postStart hook; a container whose hook fails is killed."""
        hook = (self._spec.get("lifecycle") or {}).get("postStart")
        if hook and not await self.hook(hook, "PostStart", float(self._pod.grace)):
            await self._end_run(float(self._pod.grace))

    async def hook(self, hook: Mapping[str, Any], kind: str, within: float) -> bool:
        """Runs a hook; returns whether it succeeded."""
        failure = ""
        try:
            if "exec" in hook:
                code, output = await self._execute(list(hook["exec"].get("command") or ()), within)
                failure = f"exit code {code}: {output}" if code else ""
            elif "httpGet" in hook:
                async with asyncio.timeout(within):
                    succeeded, output = await http_get(hook["httpGet"], self._spec)
                    failure = "" if succeeded else output
            elif "sleep" in hook:
                await asyncio.sleep(min(hook["sleep"].get("seconds", 0), within))
        except (TimeoutError, OSError) as error:
            failure = str(error) or "timed out"
        if failure:
            self._pod.warn(f"Failed{kind}Hook", f"{kind}Hook failed: {failure}", self._run.name)
        return not failure

    async def probe(self) -> None:
        """Runs the startup probe, then the others for as long as the container runs."""
        if startup := self._spec.get("startupProbe"):
            if not await self._probe_or_kill(startup, "Startup"):
                return
            self._run.started, self._run.ready = True, not self._spec.get("readinessProbe")
            self._started.set()
            self._pod.changed()
        await asyncio.gather(self._probe_liveness(), self._probe_readiness())

    async def _probe_or_kill(self, probe: Mapping[str, Any], kind: str) -> bool:
        """Probes until the startup probe succeeds, or until the probe fails, which kills the container."""
        thresholds = ProbeThresholds(probe)
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        while True:
            healthy = thresholds.add(await self._run_probe(probe, kind))
            if healthy is False:
                name = self._run.name
                self._pod.event("Killing", f"Container {name} failed {kind.lower()} probe, will be restarted", name)
                await self._end_run(float(probe.get("terminationGracePeriodSeconds") or self._pod.grace))
                return False
            if healthy and kind == "Startup":
                return True
            await asyncio.sleep(probe.get("periodSeconds") or 10)

    async def _run_probe(self, probe: Mapping[str, Any], kind: str) -> bool:
        succeeded, output = await run_probe(probe, self._spec, self._execute)
        if not succeeded:
            self._pod.warn("Unhealthy", f"{kind} probe failed: {output}", self._run.name)
        return succeeded

    async def _probe_liveness(self) -> None:
        if probe := self._spec.get("livenessProbe"):
            await self._probe_or_kill(probe, "Liveness")

    async def _probe_readiness(self) -> None:
        probe = self._spec.get("readinessProbe")
        if not probe:
            return
        thresholds = ProbeThresholds(probe)
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        while True:
            ready = bool(thresholds.add(await self._run_probe(probe, "Readiness")))
            if ready != self._run.ready:
                self._run.ready = ready
                self._pod.changed()
            await asyncio.sleep(probe.get("periodSeconds") or 10)
