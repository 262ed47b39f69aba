"""An API server without a network: requests are function calls; tests own the clock and generated names."""

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from jobrelay.cluster.apiserver.access import Access, Tokens
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.represent import stored
from jobrelay.cluster.apiserver.request import ApiRequest, UserInfo, received
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.response import Stream
from jobrelay.cluster.apiserver.server import ApiServer
from jobrelay.cluster.bootstrap import bootstrap
from jobrelay.cluster.controllers.aggregation import ClusterRoleAggregationController
from jobrelay.cluster.controllers.namespaces import NamespaceController
from jobrelay.cluster.store import Row, Store
from jobrelay.cluster.store.backend import NoBackend
from jobrelay.kube.pki import make_authority

Obj = dict[str, Any]
Headers = Mapping[str, str | Sequence[str]]  # a header may be sent several times
ADMIN = UserInfo("admin", ("system:masters",))
JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
YAML = "application/yaml"
START = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


@dataclass
class Answer:
    code: int
    raw: bytes
    media: str
    warnings: list[str]
    headers: dict[str, str]

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def message(self) -> str:
        message: str = self.body.get("message", "")
        return message

    @property
    def reason(self) -> str:
        reason: str = self.body.get("reason", "")
        return reason

    @property
    def names(self) -> list[str]:
        """The names of a list's items."""
        return [item["metadata"]["name"] for item in self.body["items"]]

    @property
    def version(self) -> str:
        version: str = self.body["metadata"]["resourceVersion"]
        return version


@dataclass
class Watcher:
    """One client of a watch; `waiting` is how much of it the client has not read yet, as the server believes."""

    stream: Stream
    pieces: list[bytes] = field(default_factory=list)
    waiting: int = 0
    ended: bool = False

    def write(self, data: bytes) -> None:
        self.pieces.append(data)

    def backlog(self) -> int:
        return self.waiting

    def end(self) -> None:
        self.ended = True

    @property
    def events(self) -> list[Obj]:
        return [json.loads(line) for line in b"".join(self.pieces).splitlines()]

    @property
    def seen(self) -> list[tuple[str, str]]:
        """The types of the events and the names in them."""
        return [(event["type"], event["object"].get("metadata", {}).get("name", "")) for event in self.events]


class _Preloaded(NoBackend):
    """A backend that holds what a fresh cluster holds, so that not every test makes it anew."""

    def load(self) -> tuple[int, Iterable[Row]]:
        return _fresh()


@functools.cache
def _fresh() -> tuple[int, tuple[Row, ...]]:
    kept: list[Row] = []

    class Keeper(NoBackend):
        def commit(self, rows: Sequence[Row], version: int) -> None:
            kept.extend(rows)

    async def settle() -> int:
        store = Store(Keeper())
        services = ServerContext(store, ResourceTable(), lambda: START)
        bootstrap(services, 6443)
        ClusterRoleAggregationController(services).start()
        namespaces = NamespaceController(services, b"authority")
        namespaces.start()
        for _ in range(4):
            await store.settled()
            await asyncio.sleep(0)
        return store.committed

    with ThreadPoolExecutor(1) as elsewhere:  # the test's own loop may be running here
        version = elsewhere.submit(asyncio.run, settle()).result()
    latest = {row[:3]: row for row in kept}
    return version, tuple(latest.values())


@functools.cache
def signing_key() -> bytes:
    return make_authority("service-accounts").key


class Server:
    """A fresh API server with its controllers. `now` moves only when a test moves it."""

    def __init__(self, *, history: int = 10_000) -> None:
        _fresh()
        self.now = START
        uids, suffixes = itertools.count(1), itertools.count(1)
        self.store = Store(_Preloaded(), history=history)
        self.services = ServerContext(
            self.store,
            ResourceTable(),
            lambda: self.now,
            lambda: f"x{next(suffixes):04}",
            lambda: f"00000000-0000-0000-0000-{next(uids):012}",
        )
        self.access = Access(self.services.authorizer, Tokens(signing_key(), self._lookup, self.services.now))
        self.api = ApiServer(self.services, self.access, "127.0.0.1:6443")

    def start_controllers(self) -> NamespaceController:
        """NamespaceController are filled and emptied, roles aggregated, from now on."""
        namespaces = NamespaceController(self.services, b"authority")
        namespaces.start()
        ClusterRoleAggregationController(self.services).start()
        return namespaces

    def _lookup(self, key: str, namespace: str, name: str) -> Obj | None:
        item = self.store.get(key, namespace, name)
        return stored(item.raw) if item is not None else None

    def request(
        self, method: str, target: str, body: Any = None, user: UserInfo | None = ADMIN, headers: Headers | None = None,
    ) -> ApiRequest:  # fmt: skip
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {name.lower(): (text,) if isinstance(text, str) else text for name, text in (headers or {}).items()}
        return received(method, target, given, raw, user)

    async def call(
        self, method: str, target: str, body: Any = None, *, user: UserInfo | None = ADMIN,
        headers: Headers | None = None, media: str = "",
    ) -> Answer:  # fmt: skip
        """Sends a request and waits for its answer; `media` is the Content-Type."""
        given = {**(headers or {}), **({"Content-Type": media} if media else {})}
        answer = await self.api.handle(self.request(method, target, body, user, given))
        assert answer.stream is None, "a watch needs `watch`"
        return Answer(answer.code, answer.body, answer.media, answer.warnings, answer.headers)

    async def ok(self, method: str, target: str, body: Any = None, **more: Any) -> Obj:
        """As `call`, but the answer must be a success; returns its body."""
        answer = await self.call(method, target, body, **more)
        assert 200 <= answer.code < 300, answer.raw
        found: Obj = answer.body
        return found

    async def watch(self, target: str, *, user: UserInfo | None = ADMIN, headers: Headers | None = None) -> Watcher:
        joined = target + ("&" if "?" in target else "?") + "watch=true"
        answer = await self.api.handle(self.request("GET", joined, None, user, headers))
        assert answer.stream is not None, answer.body
        watcher = Watcher(answer.stream)
        answer.stream.start(watcher)
        return watcher

    async def settle(self) -> None:
        """Lets commits, controllers and watches do what they have to do now."""
        for _ in range(12):
            await self.store.settled()
            await asyncio.sleep(0)


CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def config(name: str = "a", labels: Mapping[str, str] | None = None, **data: str) -> Obj:
    metadata: Obj = {"name": name, **({"labels": dict(labels)} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod(name: str = "p", **spec: Any) -> Obj:
    containers = [{"name": "main", "image": "image"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def job(name: str = "j", **spec: Any) -> Obj:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "image"}]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template, **spec}}


def role(*rules: Obj, name: str = "r", kind: str = "Role") -> Obj:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "rules": list(rules),
    }


def binding(user: str, to: str = "r", *, kind: str = "RoleBinding", role_kind: str = "Role", name: str = "b") -> Obj:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        "roleRef": {"apiGroup": group, "kind": role_kind, "name": to},
    }  # fmt: skip
