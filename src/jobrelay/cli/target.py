"""`job/NAME` on the command line."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from jobrelay.cli.management import Management

__all__ = ["JOB", "complete_workers"]

_KINDS = ("job", "jobs", "job.batch", "jobs.batch")


def _job_name(ctx: click.Context, param: click.Parameter, value: str) -> str:
    kind, slash, name = value.rpartition("/")
    if slash and kind.lower() not in _KINDS:
        raise click.BadParameter(f"{kind!r} cannot be delegated; write job/NAME.")
    if not name:
        raise click.BadParameter("the name is missing; write job/NAME.")
    return name


def _complete_jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    prefix = incomplete.rpartition("/")[2]
    return [CompletionItem(f"job/{name}") for name in _names(ctx, jobs=True) if name.startswith(prefix)]


def complete_workers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The registered workers whose names begin so."""
    return [CompletionItem(name) for name in _names(ctx, jobs=False) if name.startswith(incomplete)]


def _names(ctx: click.Context, *, jobs: bool) -> list[str]:
    """Names from the management cluster; none where it does not answer, since nobody asked for an error."""
    from jobrelay.cli.management import run

    management = Management(ctx.params.get("kubeconfig"), ctx.params.get("context"))
    try:
        return run(_ask(management, ctx.params.get("namespace"), jobs))
    except click.ClickException:
        return []


async def _ask(management: Management, namespace: str | None, jobs: bool) -> list[str]:
    from jobrelay.cli.jobs import is_delegated
    from jobrelay.fleet.registry import clusters
    from jobrelay.kube.resource import JOBS

    async with management.connect() as client:
        if not jobs:
            return [each.name for each in await clusters(client)]
        found = await client.list(JOBS, management.namespace(namespace))
        return [each.name for each in found.items if is_delegated(each.decode())]


JOB = click.argument("name", metavar="job/NAME", callback=_job_name, shell_complete=_complete_jobs)
