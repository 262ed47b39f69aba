"""Prints logs through the relay's API, for which a user needs no rights but those to their own workloads."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

from jobrelay.cli.errors import Failure
from jobrelay.operate.relay_client import NotServed, NotStarted, api_log

if TYPE_CHECKING:
    from jobrelay.cli.pod_logs import LogOptions
    from jobrelay.kube import Client, Resource

__all__ = ["print_api_logs"]

_POLL_INTERVAL = 0.5


async def print_api_logs(
    client: Client, kind: Resource, name: str, namespace: str, options: LogOptions, end: float
) -> bool:
    """Prints the log of a workload, once something of it has started; returns whether the API is served.

    Raises Failure if nothing has started until `end`, and KubeError.
    """
    query = {
        "container": options.container,
        "tailLines": options.tail,
        "follow": "true" if options.follow else None,
        "prefix": "true" if options.prefix else None,
    }
    while True:
        try:
            async with api_log(client, kind, name, namespace, query) as chunks:
                async for chunk in chunks:
                    sys.stdout.buffer.write(chunk)
                    sys.stdout.buffer.flush()
            return True
        except NotServed:
            return False
        except NotStarted as error:
            if time.monotonic() >= end:
                raise Failure(str(error), f"`jobrelay explain {kind}/{name}` says why") from None
        await asyncio.sleep(_POLL_INTERVAL)
