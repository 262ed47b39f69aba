"""Reaching a cluster, and telling one from another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from jobrelay.kube import Client, Connection, Forbidden, NotFound, Transport
from jobrelay.kube.resource import NAMESPACES

__all__ = ["Connect", "identity", "over_network", "same_server"]

Connect: TypeAlias = Callable[[Connection], Transport]
"""How a worker is reached: over the network, or as a test or a simulation has it."""


def over_network(connection: Connection) -> Transport:
    """The way to a worker outside of this process."""
    from jobrelay.kube.network import NetworkTransport

    return NetworkTransport(connection)


async def identity(client: Client) -> str:
    """What tells one cluster from another: the uid of its kube-system namespace, empty if we may not see it."""
    try:
        return (await client.get(NAMESPACES, "kube-system")).uid
    except (Forbidden, NotFound):
        return ""


def same_server(one: Connection, other: Connection) -> bool:
    """Whether two connections differ in nothing but who we are."""
    return all(
        getattr(one, part) == getattr(other, part)
        for part in ("server", "namespace", "ca", "insecure", "tls_server_name", "proxy_url")
    )
