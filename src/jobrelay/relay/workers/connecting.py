"""Opens transports to clusters, and identifies clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from jobrelay.kube import Client, Connection, Forbidden, NotFound, Transport
from jobrelay.kube.resource import NAMESPACES

Connect: TypeAlias = Callable[[str, Connection], Transport]
"""Opens a transport to the worker of this name: over the network, or in the process for tests and simulations."""


def over_network(worker: str, connection: Connection) -> Transport:
    """A transport to a worker outside of this process."""
    from jobrelay.kube.network import NetworkTransport

    return NetworkTransport(connection)


async def cluster_identity(client: Client) -> str:
    """The uid of a cluster's kube-system namespace, which no other cluster has; empty if it may not be read."""
    try:
        return (await client.get(NAMESPACES, "kube-system")).uid
    except (Forbidden, NotFound):
        return ""


def same_server(one: Connection, other: Connection) -> bool:
    """Whether two connections differ in nothing but credentials."""
    return all(
        getattr(one, part) == getattr(other, part)
        for part in ("server", "namespace", "ca", "insecure", "tls_server_name", "proxy_url")
    )
