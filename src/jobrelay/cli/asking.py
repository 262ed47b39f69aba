"""Asking the relay itself.

The leading relay writes on its Lease where it answers. A command that cannot reach it says why, and makes do with what the
management cluster tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec

from jobrelay.cli.management import Management
from jobrelay.kube import Client, Forbidden, NotFound
from jobrelay.kube.resource import LEASES
from jobrelay.relay.endpoint import ENDPOINT

__all__ = ["RelayUnreachable", "ask", "ask_or_say"]

_PATIENCE: Final = aiohttp.ClientTimeout(total=10.0, connect=3.0)


class RelayUnreachable(Exception):
    """The relay could not be asked; the text says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the relay said, or why it could not be asked."""

    value: Any = None
    problem: str = ""


async def ask_or_say(
    client: Client, management: Management, path: str, query: Mapping[str, str] | None = None
) -> Answer:
    """As `ask`, for those who go on without."""
    try:
        return Answer(await ask(client, management, path, query))
    except RelayUnreachable as error:
        return Answer(problem=str(error))


async def ask(client: Client, management: Management, path: str, query: Mapping[str, str] | None = None) -> Any:
    """The relay's answer as JSON values, None if it says that there is no such thing; raises RelayUnreachable."""
    url = await _endpoint(client, management)
    try:
        async with aiohttp.ClientSession(timeout=_PATIENCE) as session, session.get(url + path, params=query) as answer:
            body = await answer.read()
            if answer.status == 404:
                return None
            if answer.status != 200:
                raise RelayUnreachable(
                    f"the relay at {url} answered {answer.status} {body[:200].decode(errors='replace')}"
                )
            return msgspec.json.decode(body)
    except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
        raise RelayUnreachable(f"the relay at {url} did not answer ({error or 'no answer in time'})") from error


async def _endpoint(client: Client, management: Management) -> str:
    where = f"{management.relay_namespace}/{management.lease_name}"
    try:
        lease = await client.get(LEASES, management.lease_name, management.relay_namespace)
    except NotFound:
        raise RelayUnreachable(f"no relay has run here: there is no Lease {where}") from None
    except Forbidden as error:
        raise RelayUnreachable(f"the relay's Lease may not be read: {error}") from error
    if not lease.decode().get("spec", {}).get("holderIdentity"):
        raise RelayUnreachable(f"no relay runs: nobody holds the Lease {where}")
    url = lease.metadata.annotations.get(ENDPOINT)
    if not url:
        raise RelayUnreachable(f"the Lease {where} does not say where the relay answers")
    return url
