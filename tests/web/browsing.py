"""A browser without a screen: opens the dashboard by its URL, keeps the cookie, and reads pages.

`CannedApi` answers as a management cluster with a relay would, with values that a test chooses, such as markup wherever
a text can be.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import aiohttp
from yarl import URL

from jobrelay.kube import Client, Request, Response, SystemClock
from jobrelay.relay.api.names import BASE
from jobrelay.relay.signal import Changes
from jobrelay.web.serving import local_dashboard

CREATED = "2026-01-01T00:00:00Z"


class Answer(NamedTuple):
    status: int
    text: str
    headers: Mapping[str, str]


class Browser:
    """One visitor of one server, who has opened `url`."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url, self._session = URL(url), session

    async def send(self, method: str, path: str, data: Mapping[str, str] | None = None, **headers: str) -> Answer:
        sending = self._session.request(method, self.at(path), data=data, headers=headers, allow_redirects=False)
        async with sending as answer:
            return Answer(answer.status, await answer.text(), answer.headers)

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.send("GET", path, **headers)

    def at(self, path: str) -> URL:
        return self.url.origin().join(URL(path, encoded=True))

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[AsyncIterator[tuple[str, Any]]]:
        """The events of a stream, as names and data."""
        async with self._session.get(self.at(path)) as answer:
            yield _events(answer.content)


async def _events(lines: aiohttp.StreamReader) -> AsyncIterator[tuple[str, Any]]:
    name = ""
    async for line in lines:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


@asynccontextmanager
async def browsing(client: Client, namespace: str = "default", *, opened: bool = True) -> AsyncIterator[Browser]:
    """The local dashboard of whoever `client` is; `opened` follows the URL that it prints."""
    async with (
        local_dashboard(client, namespace, 0, SystemClock()) as url,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session,
    ):
        browser = Browser(url, session)
        if opened:
            async with session.get(url, allow_redirects=False) as answer:
                assert answer.status == 303
        yield browser


class CannedApi:
    """A transport whose answers are JSON values by path; a watch of `activity` tells of what `change` does."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._changes: asyncio.Queue[bytes] = asyncio.Queue()
        self._asked = Changes()

    def change(self, version: str = "") -> None:
        event = {"type": "MODIFIED", "object": {"metadata": {"resourceVersion": version}}}
        self._changes.put_nowait(json.dumps(event).encode() + b"\n")

    async def wait_asked(self, path: str) -> None:
        """Return once a path was asked for."""
        async with asyncio.timeout(30):
            await self._asked.until(lambda: path in (each for each, _ in self.asked))

    async def send(self, request: Request) -> Response:
        url = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        self.asked.append((url.path, query))
        self._asked.notify()
        if query.get("watch"):
            return Response(200, {}, self._watch())
        found = self.answers.get(url.path)
        if isinstance(found, bytes):
            return Response(200, {}, found)
        if found is None:
            found = {"kind": "Status", "code": 404, "reason": "NotFound", "message": f"there is no {url.path}"}
        return Response(found.get("code", 200), {}, json.dumps(found).encode())

    async def _watch(self) -> AsyncIterator[bytes]:
        while True:
            yield await self._changes.get()


def canned(text: str = "train", **statuses: int) -> dict[str, Any]:
    """A cluster with one worker and one Job; `text` stands wherever somebody else may write what they like."""
    worker = {
        "name": text, "connected": False, "state": "open", "jobs": 1, "reason": text, "version": text, "heard": CREATED,
        "lostSince": CREATED, "remarks": [text], "unfit": {text: text}, "capacityUnknown": text, "nodes": 1,
        "cpu": {"used": 1.0, "allocatable": 4.0}, "memory": {"used": 2.0**30, "allocatable": 2.0**32},
    }  # fmt: skip
    view = {
        "kind": text, "namespace": "default", "name": text, "stage": "WorkerLost", "sentence": text, "cluster": text,
        "epoch": 2, "troubles": [text], "problems": [text], "podsUnknown": text, "pods": {text: 1},
        "runs": [{"cluster": text, "run": 2, "since": CREATED}, {"cluster": text, "run": 1, "mayExist": True}],
        "workers": [{"worker": text, "ok": False, "sentence": text, "wouldChange": text}],
    }  # fmt: skip
    meta = {"name": f"job:{text}", "namespace": "default", "creationTimestamp": CREATED}
    found = {"metadata": meta, "status": view, "summary": {"status": "Waiting", "started": "", "ended": ""}}
    event = {
        "time": CREATED, "type": "Warning", "reason": text, "message": text, "object": text, "count": 3,
        "cluster": text,
    }  # fmt: skip
    template = {"spec": {"containers": [{"name": "main", "image": text}]}}
    job = {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "train", "namespace": "default", "uid": "1", "resourceVersion": "1",
                     "creationTimestamp": CREATED, "annotations": {"note": text}, "managedFields": [{"manager": "m"}]},
        "spec": {"managedBy": "jobrelay.dev/relay", "template": template},
    }  # fmt: skip
    activity = {
        "metadata": {"resourceVersion": "7"},
        "statuses": statuses or {"Waiting": 1}, "kinds": ["job"], "workers": [worker], "unseen": [text],
        "history": [{"time": CREATED, "waiting": 1, "running": 0, "complete": 2, "failed": 1}],
        "oldestWaiting": {"name": f"job:{text}", "namespace": "default", "created": CREATED},
    }  # fmt: skip
    page = {
        "metadata": {"resourceVersion": "7"},
        "items": [found],
        "total": 1,
        "statuses": {"Waiting": 1},
        "unseen": [text],
    }
    one = f"{BASE}/namespaces/default/workloads/job:train"
    return {
        **{f"{BASE}{scope}/activity": activity for scope in ("", "/namespaces/default")},
        **{f"{BASE}{scope}/workloads": page for scope in ("", "/namespaces/default")},
        BASE: {"resources": [{"name": "workloads"}]},
        one: found,
        f"{one}/events": {"items": [event]},
        f"{one}/log": f"{text}\n".encode(),
        "/apis/batch/v1/namespaces/default/jobs/train": job,
        "/api/v1/namespaces": {"metadata": {}, "items": [{"metadata": {"name": text}}]},
        "/api/v1/namespaces/jobrelay-system/configmaps": {"metadata": {}, "items": []},
        "/apis/kueue.x-k8s.io/v1beta2": {"resources": [{"name": "clusterqueues"}]},
        **queues(text),
    }


def queues(text: str) -> dict[str, Any]:
    """The lists of queues, with one of each."""
    since = {"lastTransitionTime": CREATED}
    group = "/apis/kueue.x-k8s.io/v1beta2"
    flavor = {"name": text, "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    cluster = {
        "metadata": {"name": text, "uid": "2", "creationTimestamp": CREATED},
        "spec": {"cohortName": text, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]},
        "status": {
            "conditions": [{"type": "Active", "status": "False", "reason": "X", "message": text, **since}],
            "pendingWorkloads": 12000,
            "admittedWorkloads": 3,
            "flavorsUsage": [{"name": text, "resources": [{"name": "cpu", "total": "5", "borrowed": "1"}]}],
        },
    }
    local = {
        "metadata": {"name": "team", "namespace": "default", "uid": "3"}, "spec": {"clusterQueue": text},
    }  # fmt: skip
    waiting = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": text, **since}
    workload = {
        "metadata": {"name": text, "namespace": "default", "uid": "4", "creationTimestamp": CREATED},
        "spec": {"queueName": "team", "podSets": []},
        "status": {"conditions": [waiting]},
    }
    return {
        f"{group}/clusterqueues": {"metadata": {}, "items": [cluster]},
        f"{group}/localqueues": {"metadata": {}, "items": [local]},
        f"{group}/workloads": {"metadata": {}, "items": [workload]},
    }


class Elements(HTMLParser):
    """The elements of a page, as names and attributes, and the texts within."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(" ".join(data.split()))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]
