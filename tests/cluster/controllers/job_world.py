"""A world with a Job controller in it: short ways to make Jobs, move their pods, and look at both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jobrelay.cluster.controllers.job import set_up

from ..apiserver.serving import MERGE
from .running import World, world

Obj = dict[str, Any]
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
SETTLED = 3.0


class Jobs:
    """Requests about Jobs and pods; each lets the controller settle."""

    def __init__(self, w: World) -> None:
        self.world, self.server, self.clock = w, w.server, w.clock

    async def create(self, **spec: Any) -> Obj:
        body = {"metadata": {"name": "j"}, "spec": {"template": TEMPLATE, **spec}}
        made: Obj = await self.server.ok("POST", JOBS, body)
        await self.settle()
        return made

    async def settle(self, seconds: float = SETTLED) -> None:
        await self.world.pass_(seconds)

    async def patch(self, **spec: Any) -> None:
        await self.server.ok("PATCH", f"{JOBS}/j", {"spec": spec}, media=MERGE)
        await self.settle()

    async def status(self) -> Obj:
        found: Obj = (await self.world.get(f"{JOBS}/j"))["status"]
        return found

    async def conditions(self) -> list[str]:
        return [f"{one['type']}={one['status']}/{one['reason']}" for one in (await self.status()).get("conditions", [])]

    async def pods(self) -> list[Obj]:
        items: list[Obj] = (await self.world.get(PODS))["items"]
        return sorted(items, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))

    async def events(self) -> list[str]:
        return [event["reason"] for event in (await self.world.get(EVENTS))["items"]]

    async def become(self, pod: Obj, phase: str, *, code: int | None = None, finished: float = 0) -> bool:
        """Give a pod a phase, unless it is gone; a failure may be said to be some seconds old."""
        moment = self.clock.now().timestamp() - finished
        when = type(self.clock.now()).fromtimestamp(moment, self.clock.now().tzinfo).strftime("%Y-%m-%dT%H:%M:%SZ")
        code = int(phase == "Failed") if code is None else code
        state = (
            {"terminated": {"exitCode": code, "finishedAt": when}}
            if phase in ("Succeeded", "Failed")
            else {"running": {}}
        )
        container = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        status = {"phase": phase, "containerStatuses": [container]}
        path = f"{PODS}/{pod['metadata']['name']}"
        if not pod["spec"].get("nodeName"):
            target = {"metadata": {"name": pod["metadata"]["name"]}, "target": {"kind": "Node", "name": "n"}}
            await self.server.call("POST", f"{path}/binding", target)
        return (await self.server.call("PATCH", f"{path}/status", {"status": status}, media=MERGE)).code == 200

    async def end(self, phase: str = "Succeeded", *, code: int | None = None, finished: float = 0) -> None:
        """Give every pod that runs its end."""
        for pod in await self.pods():
            if pod["status"]["phase"] not in ("Succeeded", "Failed"):
                await self.become(pod, phase, code=code, finished=finished)
        await self.settle()


@asynccontextmanager
async def job_world() -> AsyncIterator[Jobs]:
    async with world(set_up) as w:
        yield Jobs(w)
