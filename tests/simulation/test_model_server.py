"""The model of the API server answers as the embedded API server does: the same requests are sent to both."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any, Self

import msgspec
import pytest

from jobrelay.cluster.apiserver.access import Access, Tokens
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.server import ApiServer
from jobrelay.cluster.bootstrap import bootstrap
from jobrelay.cluster.inprocess import InProcessTransport
from jobrelay.cluster.plane import StoreControllers
from jobrelay.cluster.store import Store
from jobrelay.kube.pki import make_authority
from jobrelay.kube.transport import Request, Transport
from jobrelay.simulation.clock import START
from jobrelay.simulation.model_server import ADMIN, ModelServer

MERGE, STRATEGIC, JSON = "application/merge-patch+json", "application/strategic-merge-patch+json", "application/json"
BATCH, CORE = "/apis/batch/v1", "/api/v1"
WATCHED = {
    "jobs": f"{BATCH}/jobs?watch=true&allowWatchBookmarks=true&labelSelector=team%3Da",
    "pods": f"{CORE}/pods?watch=true&fieldSelector=status.phase%21%3DSucceeded",
    "leases": "/apis/coordination.k8s.io/v1/leases?watch=true",
    "configmaps": f"{CORE}/namespaces/default/configmaps?watch=true&sendInitialEvents=true"
    "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
}
key = functools.cache(lambda: make_authority("test").key)


class Side:
    """One of the two servers, on a store of its own, with a clock and uids that are the same for both."""

    def __init__(self, make: Callable[[ApiServer], Transport]) -> None:
        self.seconds, uids, suffixes = 0, itertools.count(1), itertools.count(10_000)
        context = ServerContext(
            Store(),
            ResourceTable(),
            now=lambda: START + timedelta(seconds=self.seconds),
            uid=lambda: f"00000000-0000-4000-8000-{next(uids):012d}",
            suffix=lambda: str(next(suffixes)),
        )
        bootstrap(context, 6443)
        StoreControllers(context, b"", frozenset({"namespace-controller", "garbage-collector-controller"})).start()
        tokens = Tokens(key(), lambda key, namespace, name: None, context.now)
        self.transport = make(ApiServer(context, Access(context.authorizer, tokens), "127.0.0.1:6443"))
        self.events: dict[str, list[Any]] = {}
        self.watching: list[asyncio.Task[None]] = []

    async def ask(self, method: str, path: str, body: object = None, media: str = JSON) -> tuple[int, Any]:
        raw = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        headers = {"Accept": JSON} | ({"Content-Type": media} if raw is not None else {})
        response = await self.transport.send(Request(method, path, headers, raw))
        content = await response.read()
        assert response.headers["Content-Type"].split(";")[0] in (JSON, "text/plain")
        return response.status, without_owners(msgspec.json.decode(content) if content[:1] == b"{" else content)

    async def watch(self, name: str, path: str) -> None:
        self.events[name] = []
        response = await self.transport.send(Request("GET", path, {"Accept": JSON}))

        async def follow() -> None:
            async for chunk in response.chunks():
                self.events[name] += [without_owners(msgspec.json.decode(line)) for line in chunk.splitlines()]

        self.watching.append(asyncio.create_task(follow()))

    async def close(self) -> None:
        for task in self.watching:
            task.cancel()
        await asyncio.wait(self.watching)


def without_owners(value: Any) -> Any:
    """The model does not keep managedFields."""
    if isinstance(value, dict):
        return {name: without_owners(each) for name, each in value.items() if name != "managedFields"}
    return [without_owners(each) for each in value] if isinstance(value, list) else value


class Sides:
    def __init__(self) -> None:
        self.embedded = Side(lambda api: InProcessTransport(lambda: api, ADMIN))
        self.model = Side(ModelServer)

    async def __aenter__(self) -> Self:
        for name, path in WATCHED.items():
            for side in (self.embedded, self.model):
                await side.watch(name, path)
        return self

    async def __aexit__(self, *_: object) -> None:
        for _ in range(10):
            await asyncio.sleep(0)
        for side in (self.embedded, self.model):
            await side.close()
        assert self.model.events == self.embedded.events

    async def ask(self, method: str, path: str, body: object = None, media: str = JSON) -> tuple[int, Any]:
        """The answer of both."""
        expected = await self.embedded.ask(method, path, body, media)
        found = await self.model.ask(method, path, body, media)
        assert found == expected, (method, path, body)
        for side in (self.embedded, self.model):
            side.seconds += 1
        return found


def job(random: Random, name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "command": ["true"]}
    template = {"spec": {"restartPolicy": random.choice(("Never", "Never", "Always")), "containers": [container]}}
    spec: dict[str, Any] = {"template": template, "backoffLimit": random.choice((0, 1, -1))}
    spec |= random.choice(({}, {"suspend": True}, {"managedBy": "example.com/relay"}, {"activeDeadlineSeconds": 30}))
    return {"metadata": {"name": name, "labels": {"team": random.choice("ab")}}, "spec": spec}


def lease(random: Random, name: str) -> dict[str, Any]:
    spec = {"holderIdentity": random.choice("ab"), "leaseDurationSeconds": random.choice((15, 15, 0))}
    return {"metadata": {"name": name}, "spec": {**spec, "renewTime": "2026-01-01T00:00:00.000000Z"}}


def configmap(random: Random, name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"key": random.choice("ab")}}


def event(random: Random, name: str) -> dict[str, Any]:
    about = {"kind": "Job", "namespace": "default", "name": name, "apiVersion": "batch/v1"}
    return {
        "metadata": {"name": name}, "regarding": about, "reason": random.choice(("Started", "")), "type": "Normal",
        "action": "Relay", "reportingController": "example.com/relay", "reportingInstance": "one",
        "eventTime": "2026-01-01T00:00:00.000000Z", "note": random.choice("ab"),
    }  # fmt: skip


def pod(random: Random, name: str) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "one", "uid": "x", "controller": True}
    metadata = {"name": name, "finalizers": random.choice(([], ["batch.kubernetes.io/job-tracking"]))}
    if random.random() < 0.2:
        metadata["ownerReferences"] = [owner]
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "none"}]}}


KINDS = {
    f"{BATCH}/namespaces/default/jobs": job,
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": lease,
    f"{CORE}/namespaces/default/configmaps": configmap,
    "/apis/events.k8s.io/v1/namespaces/default/events": event,
    f"{CORE}/namespaces/default/pods": pod,
}


class Requests:
    """Draws requests, some of which build on what was answered before."""

    def __init__(self, random: Random, sides: Sides) -> None:
        self.random, self.sides = random, sides
        self.seen: dict[str, list[dict[str, Any]]] = {}

    async def send(self) -> None:
        random = self.random
        folder, make = random.choice(list(KINDS.items()))
        if random.random() < 0.05:
            folder = folder.replace("/default/", "/absent/")
        name = random.choice(("one", "two", "three"))
        path = f"{folder}/{name}"
        status = folder.endswith(("jobs", "pods")) and random.random() < 0.3
        target = f"{path}/status" if status else path
        match random.choice(
            ("get", "list", "create", "create", "update", "update", "update", "patch", "patch", "delete")
        ):
            case "get":
                await self._remember(path, "GET", path)
            case "list":
                query = random.choice(("", "?limit=1", "?labelSelector=team%3Da", "?resourceVersion=0", "?limit=x"))
                await self.sides.ask("GET", folder + query)
            case "create":
                query = random.choice(("", "", "", "?dryRun=All", "?fieldManager=relay"))
                await self._remember(path, "POST", folder + query, make(random, random.choice((name, name, name, ""))))
            case "update":
                await self._remember(path, "PUT", target, self._changed(path, make, status=status))
            case "patch":
                media = random.choice((MERGE, MERGE, STRATEGIC))
                await self._remember(path, "PATCH", target, self._patch(path, status=status), media)
            case _:
                await self.sides.ask("DELETE", path, self._delete_options(path))

    async def _remember(self, path: str, method: str, target: str, body: object = None, media: str = JSON) -> None:
        code, answer = await self.sides.ask(method, target, body, media)
        if code in (200, 201) and "dryRun" not in target:
            self.seen.setdefault(path, []).append(answer)

    def _seen(self, path: str) -> dict[str, Any] | None:
        """The object as it is, or as it was."""
        seen = self.seen.get(path)
        return None if not seen else seen[-1] if self.random.random() < 0.7 else self.random.choice(seen)

    def _changed(self, path: str, make: Callable[[Random, str], dict[str, Any]], *, status: bool) -> dict[str, Any]:
        random, old = self.random, self._seen(path)
        new = make(random, path.rpartition("/")[2])
        if old is None or random.random() < 0.1:
            return new
        kept = msgspec.json.decode(msgspec.json.encode(old))
        if status:
            return kept | {"status": self._status()}
        if "data" in new:
            return kept | {"data": new["data"]}
        if path.partition("/leases/")[1]:
            return kept | {"spec": kept.get("spec", {}) | new["spec"]}
        kept["metadata"]["annotations"] = {"note": random.choice("ab")}
        if random.random() < 0.3:
            kept["metadata"].pop("resourceVersion", None)
        return kept

    def _patch(self, path: str, *, status: bool) -> dict[str, Any]:
        random, old = self.random, self._seen(path)
        metadata: dict[str, Any] = {"annotations": {"note": random.choice(("a", "b", None))}}
        metadata |= random.choice(({}, {}, {"labels": {"team": random.choice(("a", "b", None))}}))
        metadata |= random.choice(({}, {}, {"finalizers": []}, {"finalizers": ["example.com/hold"]}))
        if old is not None:
            metadata |= {name: old["metadata"][name] for name in ("uid", "resourceVersion") if random.random() < 0.4}
        more = {"status": self._status()} if status else random.choice(({}, {}, {"spec": {"suspend": False}}))
        return {"metadata": metadata, **more}

    def _status(self) -> dict[str, Any]:
        started = {"startTime": "2026-01-01T00:00:00Z"}
        ended = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"}
        return self.random.choice(
            ({"active": 1, **started}, {"active": -1}, {"phase": "Running"}, {"conditions": [ended]})
        )

    def _delete_options(self, path: str) -> dict[str, Any] | None:
        random, old = self.random, self._seen(path)
        options: dict[str, Any] = random.choice(
            ({}, {"propagationPolicy": "Foreground"}, {"propagationPolicy": "Background"}, {"gracePeriodSeconds": 0})
        )
        if old is not None and random.random() < 0.3:
            options = options | {"preconditions": {"uid": random.choice((old["metadata"]["uid"], "other"))}}
        return random.choice((options, {"kind": "DeleteOptions", "apiVersion": "v1", **options}, None))


@pytest.mark.parametrize("seed", range(10))
async def test_random_requests_get_the_same_answers_and_events(seed: int) -> None:
    async with Sides() as sides:
        requests = Requests(Random(f"requests {seed}"), sides)
        for _ in range(120):
            await requests.send()


async def test_other_paths_get_the_same_answers() -> None:
    async with Sides() as sides:
        for path in ("/readyz", "/version", f"{CORE}/namespaces/kube-system", f"{CORE}/namespaces/absent"):
            await sides.ask("GET", path)
        for path in (f"{CORE}/nothing", "/apis/example.com/v1/things", f"{CORE}/nodes/one", f"{CORE}/pods/one"):
            await sides.ask("GET", path)
        await sides.ask("POST", f"{CORE}/namespaces", {"metadata": {"name": "team"}})
        await sides.ask("GET", f"{CORE}/namespaces/team/configmaps")
        await sides.ask("DELETE", f"{CORE}/namespaces/team")
        await sides.ask("POST", f"{CORE}/namespaces/team/configmaps", {"metadata": {"name": "late"}})


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"kind":"Pod","apiVersion":"v1"}', b'{"metadata":{"name":7}}'])
async def test_bodies_that_cannot_be_read_get_the_same_answers(body: bytes) -> None:
    async with Sides() as sides:
        await sides.ask("POST", f"{BATCH}/namespaces/default/jobs", body)
        folder = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        await sides.ask("POST", folder, lease(Random(3), "one"))
        await sides.ask("PUT", f"{folder}/one", body)
        await sides.ask("PATCH", f"{folder}/one", body, MERGE)


async def test_a_lease_is_renewed_at_its_version_only() -> None:
    async with Sides() as sides:
        path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0}
        _, first = await sides.ask("POST", path, {"metadata": {"name": "relay"}, "spec": spec})
        renewed = first | {"spec": spec | {"holderIdentity": "b"}}
        assert (await sides.ask("PUT", f"{path}/relay", renewed))[0] == 200
        assert (await sides.ask("PUT", f"{path}/relay", renewed))[0] == 409
        _, last = await sides.ask("GET", f"{path}/relay")
        assert (await sides.ask("PUT", f"{path}/relay", last))[1] == last
        for change in ({"leaseDurationSeconds": 0}, {"holderIdentity": 7}, {"strategy": "x"}, {"holderIdentity": None}):
            await sides.ask("PUT", f"{path}/relay", last | {"spec": spec | change})
        await sides.ask("PATCH", f"{path}/relay", {"spec": {"renewTime": "2026-01-01T00:00:00.000001Z"}}, MERGE)
        for time in ("2026-01-01T00:00:00.000002Z", "2026-02-30T00:00:00.000000Z", "2026-01-01T01:00:00+01:00", "soon"):
            _, last = await sides.ask("GET", f"{path}/relay")
            await sides.ask("PUT", f"{path}/relay", last | {"spec": spec | {"renewTime": time}})
        await sides.ask("PUT", f"{path}/relay", last | {"spec": spec | {"leaseTransitions": 2**31}})
