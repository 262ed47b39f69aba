"""The aggregated APIs of a server: one for each APIService that names a service."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

import msgspec

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.outbound import CallTarget, ServiceReference
from jobrelay.cluster.store import Change, Store

Obj = dict[str, Any]
KEY: Final = "apiservices.apiregistration.k8s.io"


class RemoteApi(msgspec.Struct, frozen=True):
    """One group and version that another server serves."""

    name: str
    group: str
    version: str
    target: CallTarget
    insecure: bool
    group_priority: int
    version_priority: int
    available: bool

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/{self.version}"


class RemoteApis:
    """Follows the APIServices in the store. `changed` is called after each change of what is served."""

    def __init__(self, store: Store, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.by_version: dict[tuple[str, str], RemoteApi] = {}
        self.resources: dict[tuple[str, str], list[Obj]] = {}
        """What each is known to serve, as entries of an APIResourceList."""
        self.documents: dict[tuple[str, str], str] = {}
        """The addresses of their OpenAPI documents."""
        store.subscribe(KEY, self._follow)
        for item in store.snapshot(KEY).walk(""):
            self._take(represent.stored(item.raw))

    def find(self, path: str) -> RemoteApi | None:
        """The API that a request's path belongs to, its OpenAPI document included."""
        parts = path.removeprefix("/openapi/v3").split("/", 4)
        return self.by_version.get((parts[2], parts[3])) if len(parts) > 3 and parts[1] == "apis" else None

    def named(self, name: str) -> RemoteApi | None:
        version, _, group = name.partition(".")
        return self.by_version.get((group, version))

    def of_group(self, group: str) -> list[RemoteApi]:
        """The versions of a group, the preferred one first."""
        found = [api for api in self.by_version.values() if api.group == group]
        return sorted(found, key=lambda api: (-api.version_priority, api.version))

    def learn(self, api: RemoteApi, resources: list[Obj], document: str) -> None:
        """Notes what an API serves, and where its OpenAPI document is."""
        key = (api.group, api.version)
        if (self.resources.get(key), self.documents.get(key)) != (resources, document):
            self.resources[key], self.documents[key] = resources, document
            self._changed()

    def _follow(self, change: Change) -> None:
        known = dict(self.by_version)
        if change.after is not None:
            self._take(represent.stored(change.after.raw))
        else:
            assert change.before is not None
            version, _, group = change.before.name.partition(".")
            self._drop((group, version))
        if known != self.by_version:
            self._changed()

    def _take(self, service: Obj) -> None:
        spec = service["spec"]
        key = (spec.get("group", ""), spec.get("version", ""))
        if spec.get("service") is None:
            self._drop(key)
        else:
            self.by_version[key] = _remote(service)

    def _drop(self, key: tuple[str, str]) -> None:
        self.by_version.pop(key, None)
        self.resources.pop(key, None)
        self.documents.pop(key, None)


def _remote(service: Obj) -> RemoteApi:
    spec, reference = service["spec"], service["spec"]["service"]
    conditions = (service.get("status") or {}).get("conditions") or ()
    called = ServiceReference(reference["namespace"], reference["name"], reference.get("port") or 443)
    return RemoteApi(
        name=service["metadata"]["name"],
        group=spec["group"],
        version=spec["version"],
        target=CallTarget.of_service(called, base64.b64decode(spec.get("caBundle") or "")),
        insecure=bool(spec.get("insecureSkipTLSVerify")),
        group_priority=spec["groupPriorityMinimum"],
        version_priority=spec["versionPriority"],
        available=any(c["type"] == "Available" and c["status"] == "True" for c in conditions),
    )
