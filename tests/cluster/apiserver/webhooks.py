"""Webhooks for tests: a server on loopback that keeps what it is told, and configurations that name it."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.loopback import LoopbackServer

from .serving import Obj, Server

GROUP = "/apis/admissionregistration.k8s.io/v1"
Answer = Callable[[Obj], Obj]


def allow(request: Obj) -> Obj:
    return {}


def deny(message: str = "no", code: int = 403) -> Answer:
    return lambda request: {"allowed": False, "status": {"message": message, "code": code}}


def patch(*operations: Obj) -> Answer:
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda request: {"patch": text, "patchType": "JSONPatch"}


def set_data(key: str, value: str) -> Answer:
    return patch({"op": "add", "path": f"/data/{key}", "value": value})


def warn(*texts: str) -> Answer:
    return lambda request: {"warnings": list(texts)}


class Webhooks:
    """Answers each path by its function. A path with a `gate` answers when the gate is opened."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.answers: dict[str, Answer] = {}
        self.gates: dict[str, asyncio.Event] = {}
        self.told: list[tuple[str, Obj]] = []
        self.waiting = asyncio.Event()
        self.loopback = LoopbackServer(self._respond)

    async def _respond(self, request: web.Request) -> web.Response:
        review = json.loads(await request.text())
        self.told.append((request.path, review["request"]))
        self.waiting.set()
        if (gate := self.gates.get(request.path)) is not None:
            await gate.wait()
        response = {"uid": review["request"]["uid"], "allowed": True, **self.answers[request.path](review["request"])}
        return web.json_response({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})

    @property
    def paths(self) -> list[str]:
        """Who was asked, in order."""
        return [path for path, _ in self.told]

    @property
    def last(self) -> Obj:
        """The request of the newest review."""
        return self.told[-1][1]

    def hook(self, answer: Answer, name: str = "hook", rules: Sequence[Obj] = (), **more: Any) -> Obj:
        self.answers[f"/{name}"] = answer
        return {
            "name": f"{name}.example.com",
            "clientConfig": self.loopback.client_config(f"/{name}"),
            "rules": list(rules) or [rule("configmaps")],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **more,
        }

    async def register(self, kind: str, *hooks: Obj, name: str = "hooks") -> None:
        """Creates a configuration; `kind` is Mutating or Validating."""
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": name}, "webhooks": list(hooks),
        }  # fmt: skip
        await self.server.ok("POST", f"{GROUP}/{kind.lower()}webhookconfigurations", body)

    async def mutating(self, answer: Answer, **more: Any) -> None:
        await self.register("Mutating", self.hook(answer, **more))

    async def validating(self, answer: Answer, **more: Any) -> None:
        await self.register("Validating", self.hook(answer, **more))

    def hold(self, name: str = "hook") -> asyncio.Event:
        """Holds the answers of a webhook until the event is set."""
        self.waiting.clear()
        return self.gates.setdefault(f"/{name}", asyncio.Event())


def rule(*resources: str, operations: Sequence[str] = ("*",), **more: Any) -> Obj:
    return {
        "operations": list(operations), "apiGroups": ["*"], "apiVersions": ["*"], "resources": list(resources), **more,
    }  # fmt: skip


@asynccontextmanager
async def webhooks_of(server: Server) -> AsyncIterator[Webhooks]:
    made = Webhooks(server)
    async with made.loopback:
        try:
            yield made
        finally:
            for gate in made.gates.values():
                gate.set()
            await server.services.outbound.close()
