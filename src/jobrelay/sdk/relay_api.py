"""Queries the relay: through its API, or where that is not served, its HTTP endpoint.

The API needs nothing but the caller's own kubeconfig. The endpoint is for those on the relay's machine or network, and
may read its Lease, in an annotation of which the leading relay publishes its URL. A command that cannot reach the relay
says why and falls back to the objects on the management cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import urlencode

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.kube import (
    Client,
    ConfigError,
    Connection,
    Forbidden,
    NotFound,
    ProtocolError,
    Request,
    ServiceUnavailable,
    StatusError,
    TransportError,
)
from jobrelay.kube.resource import LEASES
from jobrelay.operate.relay_client import NotServed, api_explanation, api_preview, api_workers, api_workloads
from jobrelay.relay.names import ENDPOINT

__all__ = ["RelayAddress", "RelayReply", "RelayUnreachable", "query_relay", "try_query_relay"]

_TOTAL: Final = 10.0
_CONNECT: Final = 3.0


class RelayAddress(Protocol):
    """The Lease that says where the relay is."""

    @property
    def relay_namespace(self) -> str: ...

    @property
    def lease_name(self) -> str: ...


RelayQuery: TypeAlias = Mapping[str, str | list[str]]


class RelayUnreachable(Exception):
    """The relay could not be queried; the message says why."""


@dataclass(frozen=True, slots=True)
class RelayReply:
    """What the relay returned, or why it could not be queried."""

    value: Any = None
    problem: str = ""


async def try_query_relay(client: Client, at: RelayAddress, path: str, query: RelayQuery | None = None) -> RelayReply:
    """Like `query_relay`, but returns the problem instead of raising it."""
    try:
        return RelayReply(await query_relay(client, at, path, query))
    except RelayUnreachable as error:
        return RelayReply(problem=str(error))


async def query_relay(
    client: Client, at: RelayAddress, path: str, query: RelayQuery | None = None, body: bytes | None = None
) -> Any:
    """The relay's response as JSON values, None for 404; a body is posted. Raises RelayUnreachable."""
    query = query or {}
    namespace = query.get("namespace")
    try:
        return await _query_api(client, path, namespace if isinstance(namespace, str) else None, query, body)
    except NotServed as missing:
        try:
            return await _query_endpoint(client, at, path, query, body)
        except Forbidden as error:
            raise RelayUnreachable(_no_answer(at, missing, error)) from error
    except (StatusError, ProtocolError) as error:
        raise RelayUnreachable(str(error)) from error


async def _query_api(client: Client, path: str, namespace: str | None, query: RelayQuery, body: bytes | None) -> Any:
    match path.strip("/").split("/"):
        case ["workers"]:
            return await api_workers(client, namespace)
        case ["workloads"]:
            return await api_workloads(client, namespace)
        case ["explain", where, kind, name]:
            changes = query.get("if", ())
            return await api_explanation(client, kind, name, where, [changes] if isinstance(changes, str) else changes)
        case ["preview", _] if body is not None:
            return await api_preview(client, body)
    raise NotServed(f"the API has no {path}")


async def _query_endpoint(client: Client, at: RelayAddress, path: str, query: RelayQuery, body: bytes | None) -> Any:
    from jobrelay.kube.brief import BriefTransport

    url = await _endpoint(client, at)
    target = f"{path}?{urlencode(query, doseq=True)}" if query else path
    request = Request("GET" if body is None else "POST", target, body=body)
    try:
        async with asyncio.timeout(_TOTAL), BriefTransport(Connection(url), connect_timeout=_CONNECT) as relay:
            reply = await relay.send(request)
            found = await reply.read()
        if reply.status == 404:
            return None
        if reply.status == 400:
            raise RelayUnreachable(msgspec.json.decode(found)["error"])
        if reply.status != 200:
            raise RelayUnreachable(f"the relay at {url} answered {reply.status} {found[:200].decode(errors='replace')}")
        return msgspec.json.decode(found)
    except (TransportError, ProtocolError, ConfigError, TimeoutError, *UNREADABLE) as error:
        raise RelayUnreachable(f"the relay at {url} did not answer ({error or 'timeout'})") from error


def _no_answer(at: RelayAddress, missing: NotServed, error: Forbidden) -> str:
    """Users need only the API, so a missing right to read the Lease is reported only where there is no API."""
    if isinstance(missing.__cause__, ServiceUnavailable):
        return f"the relay does not answer: {missing}\nhint: ask its operator; what runs on workers continues"
    return f"no permission to read the relay's Lease {at.relay_namespace}/{at.lease_name}: {error}"


async def _endpoint(client: Client, at: RelayAddress) -> str:
    where = f"{at.relay_namespace}/{at.lease_name}"
    try:
        lease = await client.get(LEASES, at.lease_name, at.relay_namespace)
    except NotFound:
        raise RelayUnreachable(f"no relay has run here: Lease {where} does not exist") from None
    if not lease.decode().get("spec", {}).get("holderIdentity"):
        raise RelayUnreachable(f"no relay is running: Lease {where} has no holder")
    url = lease.metadata.annotations.get(ENDPOINT)
    if not url:
        raise RelayUnreachable(f"Lease {where} has no annotation {ENDPOINT} with the relay's URL")
    return url
