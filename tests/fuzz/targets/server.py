"""The API server: requests as values, bodies of one kind, bytes on a connection, and messages of exec and attach."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import ssl
from collections.abc import Iterator
from typing import Any, Final

from aiohttp import web

from jobrelay.cluster.apiserver.connections import Connections
from jobrelay.cluster.apiserver.http import HttpServer
from jobrelay.cluster.apiserver.request import received
from jobrelay.cluster.node.process import connect
from jobrelay.cluster.node.process.stdio import StdinWriter
from tests.cluster.apiserver.fuzzing import GADGET, GADGET_PATH, GADGETS
from tests.cluster.apiserver.fuzzing import Fuzzer as Requests
from tests.cluster.apiserver.serving import (
    ADMIN,
    APPLY,
    CONFIGMAPS,
    JOBS,
    JSON,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    YAML,
    Server,
    config,
    job,
    pod,
)
from tests.cluster.apiserver.test_fuzz import check as check_answer

from ..target import Check, Target
from ..tracing import untraced
from .documents import JSON_WORDS
from .memory import converse, on_the_loop, quiet, strict_runner

_PATHS: Final = (JOBS.encode(), PODS.encode(), GADGET_PATH.encode(), CONFIGMAPS.encode())


class Served:
    """A server with some objects. It is made anew after an input that has changed them, so that inputs stay alone."""

    def __init__(self) -> None:
        self._server: Server | None = None
        self._version = 0

    async def get(self) -> Server:
        if self._server is None or self._server.store.committed != self._version:
            with untraced():
                self._server = await _new_server()
            self._version = self._server.store.committed
        return self._server


async def _new_server() -> Server:
    made = Server()
    for path, body in _OBJECTS:
        await made.ok("POST", path, body)
        await made.settle()
    return made


_OBJECTS: Final = (
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", GADGETS), (GADGET_PATH, GADGET), (JOBS, job()),
    (PODS, pod()), (CONFIGMAPS, config(labels={"a": "b"}, key="value")),
)  # fmt: skip


@contextlib.contextmanager
def _requests() -> Iterator[Check]:
    """Input: a request as text, its method and target, headers, an empty line, and the body."""
    served = Served()
    with strict_runner() as runner, on_the_loop():

        async def check(data: bytes) -> None:
            server = await served.get()
            head, _, body = data.partition(b"\n\n")
            first, *lines = head.decode("utf-8", "replace").split("\n")
            method, _, target = first.partition(" ")
            headers = {name.lower(): [text] for name, _, text in (line.partition(": ") for line in lines)}
            await _answered(server, method, target, headers, body)

        yield lambda data: runner.run(check(data))


async def _answered(server: Server, method: str, target: str, headers: dict[str, list[str]], body: bytes) -> None:
    peer = None if "authorization" in headers else ADMIN
    answer = await server.api.handle(received(method, target, headers, body, peer))
    await server.store.settled()
    check_answer(answer)


def _bodies(method: str, target: str, media: str) -> Any:
    """Input: the body of one kind of request."""

    @contextlib.contextmanager
    def opened() -> Iterator[Check]:
        served = Served()
        with strict_runner() as runner, on_the_loop():

            async def check(data: bytes) -> None:
                server = await served.get()
                await _answered(server, method, f"{target}dryRun=All", {"content-type": [media]}, data)

            yield lambda data: runner.run(check(data))

    return opened


def _twice(target: str, media: str) -> Any:
    """Input: a patch that changes nothing when it is sent again."""

    @contextlib.contextmanager
    def opened() -> Iterator[Check]:
        served = Served()
        with strict_runner() as runner, on_the_loop():

            async def check(data: bytes) -> None:
                server = await served.get()
                first = await server.call("PATCH", target, data, media=media)
                if first.code == 200:
                    second = await server.call("PATCH", target, data, media=media)
                    assert (second.code, second.raw) == (200, first.raw)

            yield lambda data: runner.run(check(data))

    return opened


def _generated(source: random.Random) -> bytes:
    """A request of those that `tests.cluster.apiserver.fuzzing` makes by the type table."""
    method, target, body, headers = Requests(source.randrange(10**9)).request()
    lines = [f"{name}: {text}" for name, text in headers.items() if "\n" not in text]
    target = target + ("&" if "?" in target else "?") + "dryRun=All"
    return "\n".join([f"{method} {target}", *lines]).encode("utf-8", "surrogatepass") + b"\n\n" + body


@contextlib.contextmanager
def _connection() -> Iterator[Check]:
    """Input: what a client sends on a connection, in pieces that end at each byte 0xfe."""
    served = Served()
    with strict_runner() as runner, on_the_loop(), quiet("aiohttp.server"):

        async def check(data: bytes) -> None:
            server = await served.get()
            listening = HttpServer(server.api, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
            listening._server._kwargs["lingering_time"] = 0.0  # what is not read of a body is not waited for
            answers = await converse(listening._server, *data.split(b"\xfe"))
            await listening.stop()
            assert not answers or answers.startswith(b"HTTP/")
            assert b"could not be handled" not in answers
            assert b"Server got itself in trouble" not in answers

        yield lambda data: runner.run(check(data))


_UPGRADE: Final = (
    b"GET /api/v1/namespaces/default/pods/p/exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n"
)


@contextlib.contextmanager
def _websocket() -> Iterator[Check]:
    """Input: frames on a websocket of exec, as they stand on the wire."""
    with strict_runner() as runner, on_the_loop(), quiet("aiohttp.server"):

        async def check(data: bytes) -> None:
            ours, theirs = pty.openpty()
            writer = StdinWriter(os.dup(ours))

            async def work(socket: web.WebSocketResponse) -> dict[str, Any]:
                await connect.receive(socket, writer, writer.close)
                return connect.final_status(0)

            async def handle(raw: web.BaseRequest) -> web.StreamResponse:
                return await connect._serve(raw, work)

            try:
                answers = await converse(connections := Connections(handle), _UPGRADE, data)
                await connections.shutdown(timeout=1)
                assert answers.startswith(b"HTTP/1.1 101"), answers
                assert b"Server got itself in trouble" not in answers
            finally:
                writer.close()
                os.close(ours)
                os.close(theirs)

        yield lambda data: runner.run(check(data))


def frame(payload: bytes, opcode: int = 2, *, final: bool = True) -> bytes:
    """A client's frame, with the mask 0."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + size.to_bytes(2, "big")
    return bytes([(0x80 if final else 0) | opcode]) + length + bytes(4) + payload


def _frames(source: random.Random) -> bytes:
    """Some well-formed messages with odd content."""
    contents = [b"", b"\x00text", b"\x04{}", b'\x04{"Width":80,"Height":24}', b"\x04[", b"\x04null", b"\xff\x00",
    b"\xff",
                b"\x01x", b"\x09", b'\x04{"Width":99999,"Height":-1}', b'\x04{"Width":"a"}',
                b"\x04\xff\xfe"]  # fmt: skip
    return b"".join(
        frame(source.choice(contents), source.choice((2, 2, 2, 1, 0, 8, 9, 10)), final=source.random() < 0.9)
        for _ in range(source.randrange(1, 6))
    )


_FIELDS: Final = tuple(f'"{name}":'.encode() for name in (
    "metadata", "name", "labels", "annotations", "finalizers", "ownerReferences", "managedFields", "spec", "template",
    "containers", "image", "env", "ports", "suspend", "parallelism", "$patch", "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers", "op", "path", "from", "value", "kind", "apiVersion", "status", "conditions",
    "volumes", "tolerations", "size", "list", "key", "words", "map", "any",
))  # fmt: skip
_PATCH_WORDS: Final = (
    *JSON_WORDS, *_FIELDS, b'"add"', b'"remove"', b'"replace"', b'"move"', b'"copy"', b'"test"', b'"/spec/template"',
    b'"/-"',
    b'"/metadata/labels/a"', b'"~1"', b'"delete"', b'"merge"', b'"main"',
)  # fmt: skip
_REQUEST_WORDS: Final = (
    *_PATHS, b"GET ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ", b"?", b"&", b"watch=true", b"limit=1", b"continue=",
    b"%",
    b"%00", b"/status", b"/scale", b"/log", b"/eviction",
    b"\nContent-Type: ", JSON.encode(), YAML.encode(), MERGE.encode(),
    STRATEGIC.encode(), APPLY.encode(), JSON_PATCH.encode(), b"\nAccept: application/json;as=Table;g=meta.k8s.io;v=v1",
    b"\nAuthorization: Bearer ", b"\nImpersonate-User: a", b"labelSelector=", b"fieldSelector=",
    b"fieldManager=m&force=true",
    b"\n\n", b"//", b"[", b"#", b"/api/v1", b"/apis", b"/openapi/v2", b"/metrics", b"http://[", b"timeoutSeconds=",
)  # fmt: skip
_WIRE_WORDS: Final = (
    *_PATHS, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST ", b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", b"\r\n",
    b"\r\n\r\n", b"\xfe",
    b"Content-Length: 2\r\n", b"Content-Length: -1\r\n", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n",
    b"2\r\n{}\r\n",
    b"ffffffffffffffff\r\n", b"Expect: 100-continue\r\n", b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
    b"CONNECT a:1",
    b"OPTIONS *", b"http://[", b"//", b"Authorization: Bearer x\r\n", b"Content-Encoding: gzip\r\n",
    b"PRI * HTTP/2.0\r\n\r\n",
    b"GET /api/v1/namespaces?watch=true HTTP/1.1\r\nHost: x\r\n\r\n", b"Connection: close\r\n",
    b"Impersonate-User: a\r\n",
)  # fmt: skip


def _body(name: str, method: str, target: str, media: str) -> Target:
    return Target(name, _bodies(method, target, media), (), _PATCH_WORDS, per_byte=1000, at_least=3_000_000)


SERVER: Final = (
    Target("request", _requests, (), _REQUEST_WORDS, _generated, per_byte=1000, at_least=5_000_000),
    _body("json-patch", "PATCH", f"{JOBS}/j?", JSON_PATCH),
    _body("merge-patch", "PATCH", f"{JOBS}/j?", MERGE),
    _body("strategic-patch", "PATCH", f"{PODS}/p?", STRATEGIC),
    _body("apply", "PATCH", f"{JOBS}/j?fieldManager=m&force=true&", APPLY),
    _body("apply-custom", "PATCH", f"{GADGET_PATH}/g?fieldManager=m&", APPLY),
    _body("create-job", "POST", f"{JOBS}?fieldValidation=Strict&", JSON),
    _body("create-crd", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?", JSON),
    Target("merge-patch-twice", _twice(f"{CONFIGMAPS}/a", MERGE), (), _PATCH_WORDS, at_least=5_000_000),
    Target("apply-twice", _twice(f"{CONFIGMAPS}/a?fieldManager=m&force=true", APPLY), (), _PATCH_WORDS,
           at_least=5_000_000),
    Target("connection", _connection, (), _WIRE_WORDS, at_least=5_000_000),
    Target("websocket", _websocket, (), (b"\x82\x80", b"\x88\x80", b"\x89\x80", b"\0\0\0\0", b"\x04{",
    b"\xff"), _frames),
)  # fmt: skip
