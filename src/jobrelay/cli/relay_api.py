"""Queries the relay's HTTP endpoint.

The leading relay publishes its URL in an annotation of its Lease. A command that cannot reach the relay says why and
falls back to the objects on the management cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import aiohttp
import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.cli.management import Management
from jobrelay.kube import Client, Forbidden, NotFound
from jobrelay.kube.resource import LEASES
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
    """The relay's response as JSON values, None for 404; raises RelayUnreachable."""
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
