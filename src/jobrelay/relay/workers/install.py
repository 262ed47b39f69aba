"""Creates what the relay needs on the management cluster: its namespace, and the definitions of its registry.

Definitions that exist already, Kueue's or older ones of our own, are left as they are.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import resources
from typing import Any

from jobrelay.apimachinery import yaml
from jobrelay.kube import AlreadyExists, Client, Clock, NotFound, Resource, SystemClock
from jobrelay.kube.clock import sleep
from jobrelay.kube.discovery import serves
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, NAMESPACES
from jobrelay.relay.workers.multikueue import CLUSTERS, CONFIGS

_FILES = ("multikueueclusters.yaml", "multikueueconfigs.yaml")
_ATTEMPTS = 50


def crds() -> list[dict[str, Any]]:
    """Our definitions of MultiKueueCluster and MultiKueueConfig."""
    folder = resources.files(__package__).joinpath("crds")
    return [yaml.load(folder.joinpath(name).read_bytes()) for name in _FILES]


async def ensure_crds(client: Client, *, clock: Clock | None = None) -> list[str]:
    """Create those definitions that are absent and wait until they are served; returns the names of the new ones."""
    absent = [each for each in crds() if await _create_absent(client, CUSTOMRESOURCEDEFINITIONS, each)]
    if absent:
        await _wait_served(client, clock or SystemClock())
    return [definition["metadata"]["name"] for definition in absent]


async def _wait_served(client: Client, clock: Clock) -> None:
    for _ in range(_ATTEMPTS):
        if all([await serves(client, by_version["v1beta2"]) for by_version in (CLUSTERS, CONFIGS)]):
            return
        await sleep(clock, 0.1)


async def ensure_namespace(client: Client, name: str) -> bool:
    """Create a namespace if it is absent; returns whether it was."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    return await _create_absent(client, NAMESPACES, body)


async def _create_absent(client: Client, resource: Resource, body: dict[str, Any]) -> bool:
    try:
        await client.get(resource, body["metadata"]["name"])
    except NotFound:
        with suppress(AlreadyExists):
            await client.create(resource, body)
            return True
    return False
