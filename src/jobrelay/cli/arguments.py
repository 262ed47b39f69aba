"""Arguments that name a workload or workers, with shell completion."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from jobrelay.cli.kinds import Kinds
from jobrelay.cli.management import Management, run
from jobrelay.sdk.names import WorkloadName

__all__ = ["OPTIONAL_WORKLOAD", "WORKLOAD", "WORKLOADS", "WorkloadName", "complete_workers"]


def _workload(ctx: click.Context, param: click.Parameter, value: str) -> WorkloadName:
    try:
        return WorkloadName.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _optional_workload(ctx: click.Context, param: click.Parameter, value: str | None) -> WorkloadName | None:
    return None if value is None else _workload(ctx, param, value)


def _workloads(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[WorkloadName, ...]:
    return tuple(_workload(ctx, param, value) for value in values)


def _complete_workloads(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    kind, _, prefix = incomplete.rpartition("/")
    shown = kind or "job"
    return [CompletionItem(f"{shown}/{name}") for name in _names(ctx, shown) if name.startswith(prefix)]


def complete_workers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The registered workers whose names start with `incomplete`."""
    return [CompletionItem(name) for name in _names(ctx, None) if name.startswith(incomplete)]


def _names(ctx: click.Context, kind: str | None) -> list[str]:
    """Names of delegated workloads of a kind, or of workers; none if the management cluster cannot be reached, since
    completion must not print errors."""
    management = Management(ctx.params.get("kubeconfig"), ctx.params.get("context"))
    try:
        return run(_list_names(management, ctx.params.get("namespace"), kind))
    except click.ClickException:
        return []


async def _list_names(management: Management, namespace: str | None, kind: str | None) -> list[str]:
    from jobrelay.operate.registry import list_workers
    from jobrelay.sdk.workloads import find_adapter, is_delegated

    async with management.connect() as client:
        if kind is None:
            return [each.name for each in await list_workers(client)]
        adapter = find_adapter(kind, await Kinds().adapters(client, management))
        found = await client.list(adapter.resource, management.namespace(namespace))
        return [each.name for each in found.items if is_delegated(adapter, adapter.read(each))]


WORKLOAD = click.argument("workload", metavar="KIND/NAME", callback=_workload, shell_complete=_complete_workloads)
WORKLOADS = click.argument(
    "workloads", metavar="KIND/NAME...", nargs=-1, required=True, callback=_workloads,
    shell_complete=_complete_workloads,
)  # fmt: skip
OPTIONAL_WORKLOAD = click.argument(
    "workload", metavar="[KIND/NAME]", required=False, callback=_optional_workload, shell_complete=_complete_workloads
)
