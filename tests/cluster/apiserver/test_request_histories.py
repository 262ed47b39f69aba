"""Requests that overlap are answered as if they had come one after another.

Clients create, replace, delete and read one object at once, with and without the version that they last saw. What each
was told must fit into one order of all requests that respects real time: a search over such orders, with the object as
the state (the version it is at, or None), must find one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import hypothesis.strategies as st
from hypothesis import given, settings

from .serving import CONFIGMAPS, Answer, Server, config

STEPS = st.tuples(st.sampled_from(["create", "update", "replace", "delete", "get"]), st.integers(0, 3))
SCRIPTS = st.lists(st.lists(STEPS, min_size=1, max_size=5), min_size=2, max_size=4)


@dataclass(frozen=True)
class Request:
    """One request: when it began and ended, what it asked (`seen` is the version it insists on), what it was told."""

    began: int
    ended: int
    kind: str
    seen: str
    code: int
    version: str


class Clients:
    def __init__(self) -> None:
        self.server = Server()
        self.time = 0
        self.requests: list[Request] = []

    def tick(self) -> int:
        self.time += 1
        return self.time

    async def run(self, steps: list[tuple[str, int]]) -> None:
        seen = ""
        for kind, pause in steps:
            for _ in range(pause):
                await asyncio.sleep(0)
            began = self.tick()
            answer = await self.send(kind, seen)
            version = answer.version if answer.code < 300 and kind != "delete" else ""
            self.requests.append(Request(began, self.tick(), kind, seen, answer.code, version))
            seen = version or seen

    async def send(self, kind: str, seen: str) -> Answer:
        body = config(k=str(self.time))
        match kind:
            case "create":
                return await self.server.call("POST", CONFIGMAPS, body)
            case "update":
                body["metadata"]["resourceVersion"] = seen
                return await self.server.call("PUT", f"{CONFIGMAPS}/a", body)
            case "replace":
                return await self.server.call("PUT", f"{CONFIGMAPS}/a", body)
            case "delete":
                return await self.server.call("DELETE", f"{CONFIGMAPS}/a")
            case _:
                return await self.server.call("GET", f"{CONFIGMAPS}/a")


def outcome(request: Request, state: str) -> tuple[int, str]:
    """The code that a request must get in a state ("" is no object), and the state after it."""
    if request.kind == "create":
        return (409, state) if state else (201, request.version)
    if not state:
        return 404, state
    if request.kind == "delete":
        return 200, ""
    if request.kind == "get":
        return 200, state
    if request.kind == "update" and request.seen and request.seen != state:
        return 409, state
    return 200, request.version


def explained(requests: tuple[Request, ...], state: str = "") -> bool:
    """Whether some order of the requests that respects real time leads from the state to all their answers."""
    if not requests:
        return True
    soonest = min(request.ended for request in requests)
    for request in requests:
        if request.began > soonest:
            continue
        code, after = outcome(request, state)
        told = code == request.code and (request.kind != "get" or code != 200 or request.version == state)
        if told and explained(tuple(other for other in requests if other is not request), after):
            return True
    return False


@settings(max_examples=100)
@given(SCRIPTS)
def test_overlapping_requests_are_linearisable(scripts: list[list[tuple[str, int]]]) -> None:
    async def run() -> Clients:
        clients = Clients()
        await asyncio.gather(*(clients.run(script) for script in scripts))
        return clients

    requests = asyncio.run(run()).requests
    assert explained(tuple(requests)), requests


def test_an_impossible_history_is_not_explained() -> None:
    write = Request(1, 2, "create", "", 201, "7")
    assert explained((write, Request(3, 4, "get", "", 200, "7")))
    assert not explained((write, Request(3, 4, "get", "", 404, "")))
    assert not explained((write, Request(3, 4, "update", "6", 200, "8")))
