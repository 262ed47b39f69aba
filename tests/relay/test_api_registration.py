"""The registration of the API: by `jobrelay install`, or by a relay outside of the management cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobrelay.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Client, ConfigError, SystemClock, connect, merge_patch
from jobrelay.kube.resource import APISERVICES, NAMESPACES, SECRETS, SERVICES
from jobrelay.operate.management import Installation, management_manifests
from jobrelay.relay.api.authority import find_authority, serving_pair
from jobrelay.relay.api.names import API_SERVICE, AUTHORITY, SERVICE
from jobrelay.relay.api.registration import Registered, Registration
from tests.operate.fleets import install
from tests.relay.fleets import NAMESPACE, Fleet


@asynccontextmanager
async def registering(client: Client, wanted: Registered) -> AsyncIterator[None]:
    running = asyncio.create_task(Registration(client, wanted, clock=SystemClock()).run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait({running})


async def until_bundle(client: Client, text: str) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while True:
            spec: dict[str, Any] = (await client.get(APISERVICES, API_SERVICE)).decode()["spec"]
            if spec.get("caBundle") == text:
                return spec
            await asyncio.sleep(0.02)


async def test_the_installed_relay_adds_its_authority_and_adds_it_again() -> None:
    async with Cluster(nodes=NodeSettings(runtime="none")) as cluster:
        admin = cluster.client()
        way = await install(Fleet(cluster, {}))
        [made] = [each for each in management_manifests(Installation()) if each["kind"] == "APIService"]
        await admin.create(APISERVICES, made)
        wanted = Registered(NAMESPACE, b"PEM")
        async with connect(way) as relay, registering(relay, wanted):
            spec = await until_bundle(admin, wanted.bundle)
            assert spec["service"] == made["spec"]["service"]
            await admin.patch(APISERVICES, API_SERVICE, merge_patch({"spec": {"caBundle": "b3RoZXI="}}))
            await until_bundle(admin, wanted.bundle)


async def test_a_relay_elsewhere_registers_its_name_and_port() -> None:
    async with Cluster(nodes=NodeSettings(runtime="none")) as cluster:
        client = cluster.client()
        await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        for port in (8443, 9443):
            wanted = Registered(NAMESPACE, b"PEM", "localhost", port)
            async with registering(client, wanted), asyncio.timeout(10):
                while await registered_port(client) != port:
                    await asyncio.sleep(0.02)
        assert (await client.get(SERVICES, SERVICE, NAMESPACE)).decode()["spec"]["externalName"] == "localhost"


async def registered_port(client: Client) -> int:
    found = (await client.list(APISERVICES)).items
    own = [each.decode()["spec"]["service"]["port"] for each in found if each.name == API_SERVICE]
    return own[0] if own else 0


async def test_all_replicas_share_one_authority() -> None:
    async with (
        Cluster(nodes=NodeSettings(runtime="none")) as cluster,
        connect(await install(Fleet(cluster, {}))) as relay,
    ):
        first, second = await asyncio.gather(find_authority(relay, NAMESPACE), find_authority(relay, NAMESPACE))
        assert first == second == await find_authority(relay, NAMESPACE)
        assert serving_pair(first, ["a"]).key != serving_pair(first, ["a"]).key


async def test_an_authority_that_cannot_be_used_is_told() -> None:
    async with Cluster(nodes=NodeSettings(runtime="none")) as cluster:
        secret = {
            "metadata": {"name": AUTHORITY, "namespace": "default"},
            "data": {"tls.crt": "eA==", "tls.key": "eA=="},
        }
        await cluster.client().create(SECRETS, secret)
        found = await find_authority(cluster.client(), "default")
        with pytest.raises(ConfigError, match="holds no usable authority"):
            serving_pair(found, ["a"])
