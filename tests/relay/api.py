"""A fleet whose relay serves its API and the dashboard, and people who use it with nothing but a token of their own."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import yaml

from jobrelay.kube import AlreadyExists, Client, Forbidden, NotFound, SystemClock, connect, find_connection
from jobrelay.kube.credentials import Credential, StaticCredentials, bearer
from jobrelay.kube.resource import APISERVICES, CLUSTERROLES, NAMESPACES, ROLEBINDINGS, SERVICEACCOUNTS, SERVICES
from jobrelay.operate.roles import user_roles
from jobrelay.relay.api.names import API_SERVICE, BASE, SERVICE
from jobrelay.relay.api.registration import Registration
from jobrelay.relay.api.serving import ApiServing
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.workers.tokens import request_token
from jobrelay.web.serving import BASE as BELOW
from jobrelay.web.serving import relay_dashboard
from tests.relay.fleets import NAMESPACE, Fleet, MakeFleet, job


class ApiFleet:
    """The fleet, the API of its relay, and its port."""

    def __init__(self, it: Fleet, serving: ApiServing) -> None:
        self.it, self.serving = it, serving

    async def token(self, name: str, namespace: str, role: str = "edit") -> str:
        """The token of a user with a role in one namespace."""
        client = self.it.client
        for resource, body in (
            (NAMESPACES, {"metadata": {"name": namespace}}),
            (SERVICEACCOUNTS, {"metadata": {"name": name, "namespace": namespace}}),
            (ROLEBINDINGS, _binding(name, namespace, role)),
        ):
            with suppress(AlreadyExists):
                await client.create(resource, body)
        return await request_token(client, namespace, name, 3600)

    @asynccontextmanager
    async def user(self, name: str = "ann", namespace: str = "default", role: str = "edit") -> AsyncIterator[Client]:
        """The client of such a user, through the API server."""
        async with self.as_token(await self.token(name, namespace, role)) as client:
            await self._granted(client, namespace)
            yield client

    @asynccontextmanager
    async def as_token(self, token: str) -> AsyncIterator[Client]:
        way = find_connection(self.it.management.kubeconfig)
        async with connect(replace(way, credentials=StaticCredentials(Credential(bearer(token))))) as client:
            yield client

    async def _granted(self, client: Client, namespace: str) -> None:
        """Aggregated roles take a moment to be."""

        async def listed() -> bool:
            try:
                await client.call("GET", f"{BASE}/namespaces/{namespace}/workloads")
            except Forbidden:
                return False
            return True

        await self.it.until(listed)

    async def kubeconfig(self, folder: pathlib.Path, name: str = "ann", namespace: str = "default") -> pathlib.Path:
        """The kubeconfig of such a user."""
        loaded = yaml.safe_load(self.it.management.kubeconfig.read_text())
        token = await self.token(name, namespace)
        loaded["users"] = [{"name": user["name"], "user": {"token": token}} for user in loaded["users"]]
        for context in loaded["contexts"]:
            context["context"]["namespace"] = namespace
        path = folder / f"{name}.kubeconfig"
        path.write_text(yaml.safe_dump(loaded))
        async with self.user(name, namespace):
            return path


def _binding(name: str, namespace: str, role: str) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{name}-{role}", "namespace": namespace},
        "roleRef": {"apiGroup": CLUSTERROLES.group, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }


def talking(seconds: float = 0, **spec: Any) -> dict[str, Any]:
    """A Job whose pods say something."""
    made = job(seconds=seconds, **spec)
    made["spec"]["template"]["metadata"]["annotations"]["jobrelay.dev/log"] = "hello\nbye\n"
    return made


@asynccontextmanager
async def serving_fleet(make: MakeFleet, **options: Any) -> AsyncIterator[ApiFleet]:
    """A fleet whose API is served as the relay, and registered as by its administrator."""
    async with make(**options) as it:
        relay = it.relay
        assert relay is not None
        await relay.manager.ready.wait()

        def ready() -> RelayManager | None:
            return it.relay

        pages = BELOW, relay_dashboard(find_connection(it.management.kubeconfig), SystemClock())
        async with ApiServing(
            Client(it.home), ready, ("127.0.0.1", 0), namespace=NAMESPACE, host="localhost", pages=pages
        ) as serving:
            for body in user_roles("jobrelay"):
                await it.client.apply(CLUSTERROLES, body, field_manager="tests", force=True)
            registration = _registered(it.client, serving)
            keeping = asyncio.create_task(registration.run())
            try:
                await it.until(lambda: is_available(it.client))
                yield ApiFleet(it, serving)
            finally:
                keeping.cancel()
                await asyncio.wait({keeping})
                for resource, name, namespace in ((APISERVICES, API_SERVICE, None), (SERVICES, SERVICE, NAMESPACE)):
                    with suppress(NotFound):
                        await it.client.delete(resource, name, namespace)


def _registered(client: Client, serving: ApiServing) -> Registration:
    return Registration(client, serving.registered, clock=SystemClock())


async def is_available(client: Client) -> bool:
    try:
        found = (await client.get(APISERVICES, API_SERVICE)).decode()
    except NotFound:
        return False
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)
