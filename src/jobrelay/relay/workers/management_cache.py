"""Caches of objects of the management cluster."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from jobrelay.kube import Cache, Client, Clock, KubeError, Resource
from jobrelay.relay.workers.transforms import strip_managed_fields


def management_cache(
    client: Client,
    resource: Resource,
    namespace: str | None = None,
    *,
    clock: Clock,
    random: Random,
    idle_timeout: float | None = None,
    terminal: tuple[type[KubeError], ...] = (),
    on_connection_change: Callable[[], None] | None = None,
) -> Cache:
    """A cache that keeps objects without their managedFields."""
    return Cache(
        client, resource, namespace, clock=clock, random=random, transform=strip_managed_fields,
        idle_timeout=idle_timeout, terminal=terminal, on_connection_change=on_connection_change,
    )  # fmt: skip
