"""Arguments that name a Job or workers, with shell completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import Management, run

if TYPE_CHECKING:
    from jobrelay.kube import Client, Object

__all__ = ["JOB", "complete_workers", "get_job"]

_KINDS = ("job", "jobs", "job.batch", "jobs.batch")


def _job_name(ctx: click.Context, param: click.Parameter, value: str) -> str:
    kind, slash, name = value.rpartition("/")
    if slash and kind.lower() not in _KINDS:
        raise click.BadParameter(f"{kind!r} is not a kind that can be delegated; write job/NAME.")
    if not name:
        raise click.BadParameter("the name is missing; write job/NAME.")
    return name


def _complete_jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    prefix = incomplete.rpartition("/")[2]
    return [CompletionItem(f"job/{name}") for name in _names(ctx, jobs=True) if name.startswith(prefix)]


def complete_workers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The registered workers whose names start with `incomplete`."""
    return [CompletionItem(name) for name in _names(ctx, jobs=False) if name.startswith(incomplete)]


def _names(ctx: click.Context, *, jobs: bool) -> list[str]:
    """Names from the management cluster; none if it cannot be reached, since completion must not print errors."""
    management = Management(ctx.params.get("kubeconfig"), ctx.params.get("context"))
    try:
        return run(_list_names(management, ctx.params.get("namespace"), jobs))
    except click.ClickException:
        return []


async def _list_names(management: Management, namespace: str | None, jobs: bool) -> list[str]:
    from jobrelay.cli.job_rows import is_delegated
    from jobrelay.kube.resource import JOBS
    from jobrelay.operate.registry import list_workers

    async with management.connect() as client:
        if not jobs:
            return [each.name for each in await list_workers(client)]
        found = await client.list(JOBS, management.namespace(namespace))
        return [each.name for each in found.items if is_delegated(each.decode())]


async def get_job(client: Client, name: str, namespace: str) -> Object:
    """The Job that an argument names; raises Failure if it does not exist."""
    from jobrelay.kube import NotFound
    from jobrelay.kube.resource import JOBS

    try:
        return await client.get(JOBS, name, namespace)
    except NotFound:
        raise Failure(f"Job {namespace}/{name} does not exist", "`jobrelay get jobs -A` lists delegated Jobs") from None


JOB = click.argument("name", metavar="job/NAME", callback=_job_name, shell_complete=_complete_jobs)
