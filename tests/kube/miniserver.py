"""A very small API server behind the transport seam: enough to create, read, change, delete, list and watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from jobrelay.kube import Request, Response

from .scripted import Json, answer, bookmark, event, refusal


class MiniServer:
    """Keeps objects by path. Versions count up; `compact` forgets history as etcd does."""

    def __init__(self, *, watch_list: bool = True) -> None:
        self.objects: dict[str, Json] = {}
        self.history: list[tuple[int, str, str, Json]] = []
        self.version = 100
        self.oldest = 0
        self.watch_list = watch_list
        self.requests: list[Request] = []
        self._changed = asyncio.Event()
        self._cut = asyncio.Event()

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        url = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if query.get("watch") == "true":
            return self._watch(url.path, query)
        body = msgspec.json.decode(request.body) if request.body else {}
        match request.method:
            case "GET":
                return self._get(url.path)
            case "POST":
                return self._create(f"{url.path}/{body['metadata']['name']}", body)
            case "DELETE":
                return self._delete(url.path)
            case _:
                return self._change(url.path, body, merge=request.method == "PATCH")

    def put(self, path: str, body: Json) -> None:
        """Write an object, as anyone else's request would."""
        self._store("MODIFIED" if path in self.objects else "ADDED", path, body)

    def remove(self, path: str) -> None:
        self._store("DELETED", path, self.objects.pop(path))

    def compact(self) -> None:
        """Forget all history."""
        self.oldest = self.version
        self.history.clear()

    def end_watches(self) -> None:
        """Close every open watch, as a server does after a while."""
        self._cut.set()
        self._cut = asyncio.Event()

    def _store(self, kind: str, path: str, body: Json) -> Json:
        self.version += 1
        known = self.objects.get(path) or {"metadata": {"uid": f"uid-{self.version}"}}
        metadata = body["metadata"] | {"uid": known["metadata"]["uid"], "resourceVersion": str(self.version)}
        if kind == "DELETED":
            metadata["uid"] = body["metadata"]["uid"]
        stored = body | {"metadata": metadata}
        if kind != "DELETED":
            self.objects[path] = stored
        self.history.append((self.version, kind, path, stored))
        self._changed.set()
        self._changed = asyncio.Event()
        return stored

    def _get(self, path: str) -> Response:
        if path in self.objects:
            return answer(self.objects[path])
        if path.rsplit("/", 1)[-1].endswith("s"):
            items = [obj for key, obj in self.objects.items() if key.startswith(f"{path}/")]
            return answer({"metadata": {"resourceVersion": str(self.version)}, "items": items})
        return refusal(404, "NotFound", f"{path} not found")

    def _create(self, path: str, body: Json) -> Response:
        if path in self.objects:
            return refusal(409, "AlreadyExists", f"{path} already exists")
        return answer(self._store("ADDED", path, body), 201)

    def _change(self, path: str, body: Json, *, merge: bool) -> Response:
        known = self.objects.get(path)
        if known is None:
            return refusal(404, "NotFound", f"{path} not found")
        wanted = body.get("metadata", {}).get("resourceVersion")
        if wanted and wanted != known["metadata"]["resourceVersion"]:
            return refusal(409, "Conflict", f"{path} has been modified")
        return answer(self._store("MODIFIED", path, known | body if merge else body))

    def _delete(self, path: str) -> Response:
        if path not in self.objects:
            return refusal(404, "NotFound", f"{path} not found")
        self.remove(path)
        return answer({"kind": "Status", "status": "Success"})

    def _watch(self, path: str, query: dict[str, Any]) -> Response:
        initial = query.get("sendInitialEvents") == "true"
        if initial and not self.watch_list:
            return refusal(422, "Invalid", "sendInitialEvents is forbidden")
        start = int(query.get("resourceVersion", "0") or "0")
        if not initial and start < self.oldest:
            return refusal(410, "Expired", "too old resource version")
        return Response(200, {}, self._events(path, None if initial else start))

    async def _events(self, path: str, start: int | None) -> AsyncIterator[bytes]:
        cut = self._cut
        if start is None:
            start = self.version
            for key, obj in list(self.objects.items()):
                if key.startswith(f"{path}/"):
                    yield event("ADDED", obj)
            yield bookmark(str(start), initial_end=True)
        while not cut.is_set():
            changed = self._changed
            if start < self.oldest:
                yield event("ERROR", {"kind": "Status", "reason": "Expired", "code": 410})
                return
            for version, kind, key, obj in list(self.history):
                if version > start and key.startswith(f"{path}/"):
                    start = version
                    yield event(kind, obj)
            await _either(changed, cut)


async def _either(*events: asyncio.Event) -> None:
    tasks = [asyncio.ensure_future(one.wait()) for one in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
