"""Queries the relay: through its API, or where that is not served, its HTTP endpoint.

The API needs nothing but the caller's own kubeconfig. The endpoint is for those on the relay's machine or network, and
may read its Lease, in an annotation of which the leading relay publishes its URL. A command that cannot reach the relay
says why and falls back to the objects on the management cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import aiohttp
import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.cli.management import Management
from jobrelay.kube import Client, Forbidden, NotFound, ProtocolError, StatusError
from jobrelay.kube.resource import LEASES
from jobrelay.operate.relay_client import NotServed, api_explanation, api_workers, api_workloads
from jobrelay.relay.endpoint import ENDPOINT

__all__ = ["RelayReply", "RelayUnreachable", "query_relay", "try_query_relay"]

_TIMEOUT: Final = aiohttp.ClientTimeout(total=10.0, connect=3.0)


RelayQuery: TypeAlias = Mapping[str, str | list[str]]


class RelayUnreachable(Exception):
    """The relay could not be queried; the message says why."""


@dataclass(frozen=True, slots=True)
class RelayReply:
    """What the relay returned, or why it could not be queried."""

    value: Any = None
    problem: str = ""


async def try_query_relay(
    client: Client, management: Management, path: str, query: RelayQuery | None = None
) -> RelayReply:
    """Like `query_relay`, but returns the problem instead of raising it."""
    try:
        return RelayReply(await query_relay(client, management, path, query))
    except RelayUnreachable as error:
        return RelayReply(problem=str(error))


async def query_relay(client: Client, management: Management, path: str, query: RelayQuery | None = None) -> Any:
    """The relay's response as JSON values, None for 404; raises RelayUnreachable.

    What would be (`if`) is asked at the relay's own endpoint; the API does not have it.
    """
    query = query or {}
    namespace = query.get("namespace")
    try:
        if "if" in query:
            raise NotServed("the API has no `if`")
        return await _query_api(client, path, namespace if isinstance(namespace, str) else None)
    except NotServed:
        return await _query_endpoint(client, management, path, query)
    except (StatusError, ProtocolError) as error:
        raise RelayUnreachable(str(error)) from error


async def _query_api(client: Client, path: str, namespace: str | None) -> Any:
    match path.strip("/").split("/"):
        case ["workers"]:
            return await api_workers(client, namespace)
        case ["workloads"]:
            return await api_workloads(client, namespace)
        case ["explain", where, kind, name]:
            return await api_explanation(client, kind, name, where)
    raise NotServed(f"the API has no {path}")


async def _query_endpoint(client: Client, management: Management, path: str, query: RelayQuery) -> Any:
    url = await _endpoint(client, management)
    try:
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session, session.get(url + path, params=query) as reply:
            body = await reply.read()
            if reply.status == 404:
                return None
            if reply.status == 400:
                raise RelayUnreachable(msgspec.json.decode(body)["error"])
            if reply.status != 200:
                raise RelayUnreachable(
                    f"the relay at {url} answered {reply.status} {body[:200].decode(errors='replace')}"
                )
            return msgspec.json.decode(body)
    except (aiohttp.ClientError, TimeoutError, *UNREADABLE) as error:
        raise RelayUnreachable(f"the relay at {url} did not answer ({error or 'timeout'})") from error


async def _endpoint(client: Client, management: Management) -> str:
    where = f"{management.relay_namespace}/{management.lease_name}"
    try:
        lease = await client.get(LEASES, management.lease_name, management.relay_namespace)
    except NotFound:
        raise RelayUnreachable(f"no relay has run here: Lease {where} does not exist") from None
    except Forbidden as error:
        raise RelayUnreachable(f"no permission to read the relay's Lease {where}: {error}") from error
    if not lease.decode().get("spec", {}).get("holderIdentity"):
        raise RelayUnreachable(f"no relay is running: Lease {where} has no holder")
    url = lease.metadata.annotations.get(ENDPOINT)
    if not url:
        raise RelayUnreachable(f"Lease {where} has no annotation {ENDPOINT} with the relay's URL")
    return url
