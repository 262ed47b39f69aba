"""The workers that `jobrelay get` and `jobrelay top` show: as the relay sees them, or as their objects say."""

from __future__ import annotations

from collections import Counter

import click
import msgspec

from jobrelay.cli.management import Management
from jobrelay.kube import Client
from jobrelay.relay.worker_view import WorkerView
from jobrelay.sdk.relay_api import try_query_relay

__all__ = ["worker_views"]


async def worker_views(client: Client, management: Management, namespace: str | None) -> tuple[list[WorkerView], str]:
    """The workers, and why the relay could not be asked about them."""
    query = {"namespace": namespace} if namespace else None
    reply = await try_query_relay(client, management, "/workers", query)
    if reply.problem:
        return await _registered(client), reply.problem
    return msgspec.convert(reply.value, list[WorkerView]), ""


async def _registered(client: Client) -> list[WorkerView]:
    """The workers by their objects on the management cluster; none for users that may not read those."""
    from jobrelay.cli.job_rows import finished, job_status
    from jobrelay.kube import Forbidden
    from jobrelay.kube.resource import JOBS
    from jobrelay.operate.registry import list_workers, registered_view
    from jobrelay.relay.worker_assignment import assignment_of

    try:
        workers, jobs = await list_workers(client), (await client.list(JOBS)).items
    except Forbidden as error:
        click.echo(f"note: workers cannot be listed: {error}", err=True)
        return []
    live = [job for job in jobs if not finished(job_status(job.decode()))]
    counts = Counter(to.cluster for job in live if (to := assignment_of(job)) is not None)
    return [registered_view(each, counts[each.name]) for each in workers]
