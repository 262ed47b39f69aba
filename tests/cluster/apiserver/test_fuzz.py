"""Whatever is sent, the answer is an answer: a result or a Status, never the words for what nobody thought of."""

from __future__ import annotations

import json

import pytest

from jobrelay.cluster.apiserver.response import ApiResponse

from .fuzzing import Fuzzer, corpus
from .serving import Server, Watcher

UNHANDLED = b"the request could not be handled"
STATUS = {"kind", "apiVersion", "metadata", "status", "message", "reason", "details", "code"}


def check(answer: ApiResponse) -> None:
    """The answer has the shape that clients expect."""
    assert UNHANDLED not in answer.body
    if answer.stream is not None:
        watcher = Watcher(answer.stream)
        answer.stream.start(watcher)
        answer.stream.stop()
        assert all(event.keys() == {"type", "object"} for event in watcher.events)
        return
    if answer.code < 400 or answer.media != "application/json":
        return
    status = json.loads(answer.body)
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.code)
    assert status.keys() <= STATUS


async def filled() -> Server:
    """A server that already holds an object of every kind, as far as they can be created."""
    server = Server()
    for path, body in corpus():
        await server.call("POST", path, body)
        await server.settle()
    return server


@pytest.mark.looptime
@pytest.mark.parametrize("seed", range(12))
async def test_no_request_is_too_odd(seed: int) -> None:
    server, fuzzer = await filled(), Fuzzer(seed)
    for number in range(60):
        method, target, body, headers = fuzzer.request()
        answer = await server.api.handle(server.request(method, target, body, headers=headers))
        try:
            check(answer)
        except AssertionError:
            pytest.fail(f"seed {seed}, request {number}: {method} {target} {headers} {body!r} -> {answer.body[:500]!r}")
