"""Takes a manager through its steps on one cluster, and tells what was there at the end."""

from __future__ import annotations

import asyncio
import json
import pathlib
import time
from dataclasses import dataclass
from typing import Any, Final

from tests.oracle.endpoint import Endpoint

from .managers import Manager, Obj, contains
from .programs import running

NAMESPACE: Final = "work"
END_SECONDS, CALM_SECONDS, AGAIN_SECONDS = 90.0, 3.0, 0.5
"""How long an object may take to its end, how long nothing may change then, and how often is looked."""
ATTEMPTS, TOO_MANY_REQUESTS = 10, 429
HEADERS: Final = {
    "Content-Type": "application/json", "Impersonate-User": "tester", "Impersonate-Uid": "t-1",
    "Impersonate-Group": "system:masters",
}  # fmt: skip
"""Webhooks are told who writes: on all clusters the same user."""
NOT_COMPARED: Final = frozenset({"events", "leases", "endpoints", "endpointslices"})
"""What these hold depends on when things happened, or on controllers that neither side runs."""
REGISTRATIONS: Final = ("CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@dataclass(frozen=True)
class Story:
    """All objects at the end by resource, those that are left when the good object is deleted, the answer to the bad
    object, and how long the good one took."""

    objects: dict[str, list[Obj]]
    left: dict[str, list[Obj]]
    refusal: Obj
    seconds: float


class Api:
    """A cluster's API as someone uses it who may do everything."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def get(self, path: str) -> Any:
        code, found = await self._send("GET", path, None)
        assert code == 200, f"{path}: {code} {found}"
        return found

    async def create(self, obj: Obj) -> tuple[int, Any]:
        return await self._send("POST", await self.path(obj), obj)

    async def delete(self, path: str) -> None:
        """Delete an object, its dependents with it."""
        code, answer = await self._send("DELETE", path, {"propagationPolicy": "Background"})
        assert code == 200, f"{path}: {code} {answer}"

    async def path(self, obj: Obj) -> str:
        """The collection that an object belongs to."""
        group = _group_path(obj["apiVersion"])
        resources = (await self.get(group))["resources"]
        found = next(each for each in resources if each["kind"] == obj["kind"] and "/" not in each["name"])
        return f"{group}/namespaces/{NAMESPACE}/{found['name']}" if found["namespaced"] else f"{group}/{found['name']}"

    async def resources(self) -> list[tuple[str, Obj]]:
        """What can be listed: custom resources in all versions, others in the one that their group prefers."""
        versions = [version for group in (await self.get("/apis"))["groups"] for version in _versions(group)]
        return [
            (_group_path(version), each)
            for version in ("v1", *versions)
            for each in (await self.get(_group_path(version)))["resources"]
            if "list" in each["verbs"] and each["name"] not in NOT_COMPARED
        ]

    async def _send(self, method: str, path: str, body: Obj | None) -> tuple[int, Any]:
        """Sent again while the server asks for patience, as a real one does at first about a new custom resource."""
        data = None if body is None else json.dumps(body).encode()
        for _ in range(ATTEMPTS):
            answer = await self._endpoint.send(method, path, HEADERS, data)
            if answer.code != TOO_MANY_REQUESTS:
                break
            await asyncio.sleep(1)
        return answer.code, json.loads(answer.body) if answer.code else answer.body.decode()


def _versions(group: Obj) -> list[str]:
    shown = group["versions"] if _is_custom(group["name"]) else [group["preferredVersion"]]
    return [version["groupVersion"] for version in shown]


def _is_custom(group: str) -> bool:
    """Whether a group is not built in."""
    return "." in group and not group.endswith(".k8s.io")


def _group_path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


async def play(manager: Manager, kubeconfig: pathlib.Path, scratch: pathlib.Path) -> Story:
    """Start the manager and take it through its steps."""
    async with running(manager, kubeconfig, scratch), Endpoint.from_kubeconfig(kubeconfig) as endpoint:
        api = Api(endpoint)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        for each in (namespace, *manager.setup, manager.good):
            code, answer = await api.create(each)
            assert code == 201, f"{each['kind']}: {code} {answer}"
        path = f"{await api.path(manager.good)}/{manager.good['metadata']['name']}"
        seconds = await _end(api, manager, path)
        code, refusal = await api.create(manager.bad)
        assert code >= 400, f"{manager.bad['kind']} was not refused"
        objects = await _calm(api)
        await api.delete(path)
        return Story(objects, await _calm(api), {"code": code, "message": refusal["message"]}, seconds)


async def _end(api: Api, manager: Manager, path: str) -> float:
    """Wait until the good object is what it is to become; returns how long that took."""
    began = time.monotonic()
    while not contains(found := await api.get(path), manager.end):
        waited = time.monotonic() - began
        assert waited < END_SECONDS, f"after {waited:.0f} s: {json.dumps(found.get('status'), indent=1)}"
        await asyncio.sleep(AGAIN_SECONDS)
    return time.monotonic() - began


async def _calm(api: Api) -> dict[str, list[Obj]]:
    """All objects, once nothing has changed for a while and no garbage is left.

    A real garbage collector may take half a minute until it has heard of a new kind.
    """
    resources = await api.resources()
    end = time.monotonic() + END_SECONDS
    found, since = await _objects(api, resources), time.monotonic()
    while time.monotonic() - since < CALM_SECONDS or _garbage(found):
        assert time.monotonic() < end, f"objects go on changing, or are not collected: {_garbage(found)}"
        await asyncio.sleep(AGAIN_SECONDS)
        if (now := await _objects(api, resources)) != found:
            found, since = now, time.monotonic()
    return found


def _garbage(objects: dict[str, list[Obj]]) -> list[str]:
    """Names of the objects in the namespace whose owners are gone."""
    all_metadata = [each["metadata"] for listed in objects.values() for each in listed]
    present = {metadata["uid"] for metadata in all_metadata}
    return [
        metadata["name"]
        for metadata in all_metadata
        if "namespace" in metadata and any(owner["uid"] not in present for owner in metadata.get("ownerReferences", ()))
    ]


async def _objects(api: Api, resources: list[tuple[str, Obj]]) -> dict[str, list[Obj]]:
    """Objects in the namespace of the steps, and those that concern the whole cluster and are not built in."""
    found = {}
    for group, each in resources:
        if each["namespaced"]:
            listed = await api.get(f"{group}/namespaces/{NAMESPACE}/{each['name']}")
        elif _is_custom(group.split("/")[2]) or each["kind"] in REGISTRATIONS:
            listed = await api.get(f"{group}/{each['name']}")
        else:
            continue
        if listed["items"]:
            found[f"{group}/{each['name']}"] = listed["items"]
    return found
