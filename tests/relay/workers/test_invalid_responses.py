"""Workers that answer, but not as Kubernetes does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random

import msgspec
import pytest

from jobrelay.kube import FakeClock, Request, Response
from jobrelay.kube.resource import JOBS
from jobrelay.relay.workers import WorkerConnection, WorkerSpec
from jobrelay.workloads import JobAdapter
from tests.relay.proofs import known_proofs

from .support import advance, kubeconfig_access, running

MANY = 10 * 1024 * 1024
END = {
    "type": "BOOKMARK",
    "object": {"metadata": {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}},
}


class Liar:
    """Answers every request with the same body."""

    def __init__(self, body: bytes, watch: bytes | None = None) -> None:
        self._body, self._watch = body, watch
        self.requests = 0

    async def send(self, request: Request) -> Response:
        self.requests += 1
        watched = self._watch is not None and "watch=true" in request.path
        return Response(200, {}, self._chunks(self._watch if watched and self._watch is not None else self._body))

    async def _chunks(self, body: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65536):
            yield body[start : start + 65536]


def event(obj: object, kind: str = "ADDED") -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n" + msgspec.json.encode(END) + b"\n"


FINE = msgspec.json.encode({"metadata": {"name": "kube-system", "uid": "u"}, "gitVersion": "v1"})


@pytest.mark.parametrize(
    ("liar", "words"),
    [
        (Liar(b"<html>welcome</html>"), "it sends invalid responses: not a version"),
        (Liar(b""), "it sends invalid responses"),
        (Liar(b"[" * 200_000), "it sends invalid responses"),
        (Liar(b"x" * MANY), "it sends invalid responses: GET /version: an answer of more than 8388608 bytes"),
        (Liar(FINE, b"hello\n"), "it sends invalid responses: not a watch event"),
        (
            Liar(FINE, b"x" * MANY),
            "it sends invalid responses: GET /apis/batch/v1/jobs: an event of more than 8388608 bytes",
        ),
        (Liar(FINE, b'{"type":"ADDED","object":' + b'{"a":' * 100_000 + b"\n"), "it sends invalid responses"),
        (
            Liar(FINE, event({"kind": "Pod", "metadata": {"name": "a"}})),
            "it sends invalid responses: Pod a where a Job",
        ),
        (Liar(FINE, event({"metadata": {"name": 5}})), "it sends invalid responses: not a Kubernetes object"),
        (Liar(FINE, b""), "it sends invalid responses: the state of jobs.batch came without"),
    ],
)
async def test_nonsense_is_named_and_does_no_harm(clock: FakeClock, liar: Liar, words: str) -> None:
    link = WorkerConnection(
        WorkerSpec("w1", kubeconfig_access()),
        resources=[JOBS],
        pod_owner=JobAdapter().pod_owner,
        proofs=known_proofs("o"),
        clock=clock,
        connect=lambda name, connection: liar,
        random=Random(1),
    )
    async with running(link.run()):
        await advance(clock, 30)
        assert not link.connected
        assert link.lost_since is not None
        assert link.reason.startswith(words)
        assert liar.requests < 80
