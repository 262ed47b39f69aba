"""A program on loopback that both servers call: a conversion webhook, and an API server of its own to aggregate.

It runs in a thread from the first scenario that names it, `{{program}}` (host and port), `{{port}}` or `{{ca}}`.
"""

from __future__ import annotations

import base64
import functools
import json
import pathlib
import ssl
import tempfile
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from jobrelay.kube.pki import Authority, make_authority

Obj = dict[str, Any]
HOSTS = ("127.0.0.1", "localhost", "*.default.svc")
SUFFIX = ".aggregated.example"
"""What the groups end with that it serves: all that are asked for."""


def mentions(text: str) -> bool:
    return any(name in text for name in ("{{program}}", "{{port}}", "{{ca}}"))


@functools.cache
def values() -> Mapping[str, str]:
    """Starts the program; returns what scenarios may say of it."""
    authority = Authority(make_authority("program-ca"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.socket = _context(authority).wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    bundle = base64.b64encode(authority.pair.certificate).decode()
    return {"program": f"127.0.0.1:{port}", "port": str(port), "ca": bundle}


def _context(authority: Authority) -> ssl.SSLContext:
    pair = authority.server(HOSTS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "pair.pem"
        path.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(path)
    return context


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        if path.startswith("/convert/"):
            self._answer(*_converted(path.removeprefix("/convert/"), json.loads(body)))
        else:
            self._aggregated(body)

    def do_GET(self) -> None:
        self._aggregated(b"")

    do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def _aggregated(self, body: bytes) -> None:
        path = self.path.partition("?")[0]
        group, _, rest = path.removeprefix("/apis/").partition("/")
        if rest == "v1":
            self._answer(200, _resources(group))
            return
        if not group.endswith(SUFFIX) or not rest.startswith("v1/"):
            self._answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})
            return
        seen = {
            name: self.headers.get_all(name) for name in sorted({name.lower() for name in self.headers})
            if name.lower().startswith(("x-remote-", "content-type", "impersonate"))
        }  # fmt: skip
        echo = {"method": self.command, "target": self.path, "headers": seen, "body": body.decode()}
        code = int(path.rpartition("/code-")[2]) if "/code-" in path else 200
        self._answer(code, {"kind": "Echo", "apiVersion": f"{group}/v1", "metadata": {}, "echo": echo})

    def _answer(self, code: int, body: Any) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json" if not isinstance(body, bytes) else "text/plain")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        return None


def _resources(group: str) -> Obj:
    echoes = {
        "name": "echoes", "singularName": "echo", "namespaced": True, "kind": "Echo", "shortNames": ["ec"],
        "verbs": ["create", "get", "list"],
    }  # fmt: skip
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/v1", "resources": [echoes]}


# Conversion reviews. The path says what is wrong with the answer.


def _renamed(obj: Obj, to: str) -> Obj:
    """v1 has spec.size, v2 has spec.width."""
    old, new = ("size", "width") if to.endswith("v2") else ("width", "size")
    spec = dict(obj.get("spec") or {})
    if old in spec:
        spec[new] = spec.pop(old)
    return {**obj, "apiVersion": to, "spec": spec}


def _metadata(**changes: Any) -> Callable[[Obj], Obj]:
    return lambda obj: {**obj, "metadata": {**obj["metadata"], **changes}}


OBJECTS: Mapping[str, Callable[[Obj], Any]] = {
    "version": lambda obj: {**obj, "apiVersion": "other.example/v1"},
    "kind": lambda obj: {**obj, "kind": "Other"},
    "nokind": lambda obj: {key: value for key, value in obj.items() if key != "kind"},
    "name": _metadata(name="other"),
    "namespace": _metadata(namespace="other"),
    "uid": _metadata(uid="other"),
    "labels": _metadata(labels={"a": "b"}, annotations=None, generation=7, finalizers=["x/y"]),
    "badlabels": _metadata(labels={"a b": "c d"}),
    "badannotations": _metadata(annotations={"a b": "c d"}),
    "labelnumber": _metadata(labels={"a": 1}),
    "labellist": _metadata(labels=["a"]),
    "nometadata": lambda obj: {key: value for key, value in obj.items() if key != "metadata"},
    "unknown": lambda obj: {**obj, "spec": {**obj["spec"], "more": 1}},
}
RESPONSES: Mapping[str, Callable[[Obj], Obj]] = {
    "empty": lambda response: {**response, "convertedObjects": []},
    "twice": lambda response: {**response, "convertedObjects": response["convertedObjects"] * 2},
    "failure": lambda response: {**response, "result": {"status": "Failure", "message": "no way"}},
    "silent": lambda response: {**response, "result": {"status": "Failure"}},
    "nostatus": lambda response: {**response, "result": {}},
    "wronguid": lambda response: {**response, "uid": "other"},
}
REVIEWS: Mapping[str, Callable[[Obj], tuple[int, Any]]] = {
    "noresponse": lambda review: (200, {**review, "response": None}),
    "otherkind": lambda review: (200, {**review, "kind": "Other"}),
    "otherversion": lambda review: (200, {**review, "apiVersion": "apiextensions.k8s.io/v1beta1"}),
    "text": lambda review: (200, b"hello"),
    "nothing": lambda review: (200, b""),
    "list": lambda review: (200, []),
    "code400": lambda review: (400, b"bad"),
    "code404": lambda review: (404, b"where"),
    "code500": lambda review: (500, b"broken"),
    "code503": lambda review: (503, b"later"),
    "status": lambda review: (500, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "told so"}),
}
MODES = (*OBJECTS, *RESPONSES, *REVIEWS)


def _converted(mode: str, review: Obj) -> tuple[int, Any]:
    """What is wrong is wrong only on the way to v1."""
    request = review["request"]
    to = request["desiredAPIVersion"]
    if to.endswith("v2"):
        mode = ""
    change = OBJECTS.get(mode, lambda obj: obj)
    objects = [change(_renamed(obj, to)) for obj in request["objects"]]
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    review = {**review, "response": RESPONSES.get(mode, lambda given: given)(response)}
    return REVIEWS[mode](review) if mode in REVIEWS else (200, review)
