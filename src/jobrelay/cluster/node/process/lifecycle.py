"""What is done for a container while it runs: its hooks, and its start-up, liveness and readiness probes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jobrelay.cluster.node.process.probes import ProbeThresholds, ask, http_get

if TYPE_CHECKING:
    from jobrelay.cluster.node.process.container import Container


class ContainerLifecycle:
    """Looks after one run of a container until it is cancelled with it."""

    def __init__(self, container: Container) -> None:
        self._container, self._spec = container, container.spec
        self._pod, self._run = container.pod, container.run

    async def after_start(self) -> None:
        """Runs the postStart hook; a container whose hook fails is ended."""
        hook = (self._spec.get("lifecycle") or {}).get("postStart")
        if hook and not await self.hook(hook, "PostStart", float(self._pod.grace)):
            await self._end(float(self._pod.grace))

    async def hook(self, hook: Mapping[str, Any], kind: str, within: float) -> bool:
        """Runs a hook; whether it went well."""
        trouble = ""
        try:
            if "exec" in hook:
                code, output = await self._container.execute(list(hook["exec"].get("command") or ()), within)
                trouble = f"exit code {code}: {output}" if code else ""
            elif "httpGet" in hook:
                async with asyncio.timeout(within):
                    good, trouble = await http_get(hook["httpGet"], self._spec)
                    trouble = "" if good else trouble
            elif "sleep" in hook:
                await asyncio.sleep(min(hook["sleep"].get("seconds", 0), within))
        except (TimeoutError, OSError) as error:
            trouble = str(error) or "timed out"
        if trouble:
            self._pod.warn(f"Failed{kind}Hook", f"{kind}Hook failed: {trouble}", self._run.name)
        return not trouble

    async def probe(self) -> None:
        """Runs the start-up probe, then the others for as long as the container runs."""
        if startup := self._spec.get("startupProbe"):
            if not await self._probe_until_verdict(startup, "Startup"):
                return
            self._run.started, self._run.ready = True, not self._spec.get("readinessProbe")
            self._container.up.set()
            self._pod.changed()
        await asyncio.gather(self._probe_liveness(), self._probe_readiness())

    async def _probe_until_verdict(self, probe: Mapping[str, Any], kind: str) -> bool:
        """Probes until the first verdict; a bad one ends the container."""
        verdict = ProbeThresholds(probe)
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        while True:
            good = await self._ask(probe, kind)
            found = verdict.take(good)
            if found is False:
                name = self._run.name
                self._pod.tell("Killing", f"Container {name} failed {kind.lower()} probe, will be restarted", name)
                await self._end(float(probe.get("terminationGracePeriodSeconds") or self._pod.grace))
                return False
            if found and kind == "Startup":
                return True
            await asyncio.sleep(probe.get("periodSeconds") or 10)

    async def _ask(self, probe: Mapping[str, Any], kind: str) -> bool:
        good, text = await ask(probe, self._spec, self._container.execute)
        if not good:
            self._pod.warn("Unhealthy", f"{kind} probe failed: {text}", self._run.name)
        return good

    async def _end(self, grace: float) -> None:
        """Ends this run, not the container: its policy says whether there is another."""
        process = self._container.process
        if process is not None:
            self._pod.host.launcher.signal(process, signal.SIGTERM)
            await asyncio.sleep(grace)
            self._pod.host.launcher.signal(process, signal.SIGKILL)

    async def _probe_liveness(self) -> None:
        if probe := self._spec.get("livenessProbe"):
            await self._probe_until_verdict(probe, "Liveness")

    async def _probe_readiness(self) -> None:
        probe = self._spec.get("readinessProbe")
        if not probe:
            return
        verdict = ProbeThresholds(probe)
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        while True:
            found = bool(verdict.take(await self._ask(probe, "Readiness")))
            if found != self._run.ready:
                self._run.ready = found
                self._pod.changed()
            await asyncio.sleep(probe.get("periodSeconds") or 10)
