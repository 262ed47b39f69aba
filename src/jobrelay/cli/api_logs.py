"""Prints logs through the relay's API, for which a user needs no rights but those to their own workloads."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from typing import TYPE_CHECKING

from jobrelay.cli.errors import Failure
from jobrelay.operate.relay_client import NotServed, NotStarted, api_log

if TYPE_CHECKING:
    from jobrelay.kube import Client, Resource
    from jobrelay.sdk.pod_logs import LogOptions

__all__ = ["print_api_logs"]

_POLL_INTERVAL = 0.5


async def print_api_logs(
    client: Client, kind: Resource, name: str, namespace: str, options: LogOptions, prefix: bool, within: float
) -> bool:
    """Prints the log of a workload, once something of it has started; returns whether the API is served.

    Raises Failure if nothing has started `within` so many seconds, which do not count if it is followed, and KubeError.
    """
    end = math.inf if options.follow else time.monotonic() + within
    query = {
        "container": options.container,
        "tailLines": options.tail,
        "index": options.index,
        "sinceSeconds": math.ceil(options.since) if options.since is not None else None,
        "timestamps": "true" if options.timestamps else None,
        "follow": "true" if options.follow else None,
        "prefix": "true" if prefix else None,
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
