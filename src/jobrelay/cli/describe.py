"""`jobrelay describe`: what became of a delegated workload, in the order of time."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import click

from jobrelay.cli.arguments import WORKLOAD, WorkloadName
from jobrelay.cli.explanation import print_lines
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option, print_data

__all__ = ["describe", "description_lines"]

_WIDTH = 118


@click.command(short_help="Show what became of a delegated workload, with durations.")
@WORKLOAD
@NAMESPACE
@output_option("text", "json", "yaml")
@kind_options
@management_options
def describe(workload: WorkloadName, namespace: str | None, output: str, kinds: Kinds, management: Management) -> None:
    """Show what became of a delegated workload: a timeline of its conditions and events, with durations.

    It is made of what the management cluster has, so it works without the relay too. Where the relay answers, its
    sentence and what is wrong with the pods on the worker come first. Events are kept for an hour or so.

    \b
    jobrelay describe job/train
    jobrelay describe jobset/train -o json
    """
    found = run(_describe(workload, namespace, kinds, management))
    if output == "text":
        print_lines(description_lines(found))
    else:
        print_data(found, output)


async def _describe(
    workload: WorkloadName, namespace: str | None, kinds: Kinds, management: Management
) -> dict[str, Any]:
    from jobrelay.apimachinery.times import format_time
    from jobrelay.cli.listing import with_view
    from jobrelay.relay.run_history import run_history
    from jobrelay.relay.worker_assignment import assignment_of
    from jobrelay.sdk.explaining import events_of
    from jobrelay.sdk.relay_api import try_query_relay
    from jobrelay.sdk.timeline import timeline
    from jobrelay.sdk.workloads import get_workload, workload_status

    async with kinds.relay(management, namespace) as relay:
        adapter, name, where = await relay.find(workload)
        obj = await get_workload(relay.client, adapter, name, where)
        moments = timeline(adapter, obj, await events_of(relay.client, obj))
        reply = await try_query_relay(relay.client, relay, f"/explain/{where}/{adapter.resource}/{name}")
    to, view = assignment_of(obj), reply.value or {}
    found = {
        "kind": adapter.resource.kind,
        "namespace": where,
        "name": name,
        "status": workload_status(adapter.read(obj)),
        "cluster": to.cluster if to is not None else None,
        "run": to.epoch if to is not None else None,
    }
    return {
        **{key: value for key, value in with_view(found, view).items() if key != "why"},
        "troubles": list(view.get("troubles", ())),
        "runs": run_history(to),
        "timeline": [
            {"time": format_time(each.time), "afterSeconds": each.after, "what": each.what} for each in moments
        ],
    }


def description_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The text: the state in one line, then a line for each moment with the time since the one before."""
    from jobrelay.kinds.tables.ages import human_duration

    moments = found["timeline"]
    where = f" on {found['cluster']} (run {found['run']})" if found["cluster"] else ""
    lasted = sum(each["afterSeconds"] or 0.0 for each in moments)
    shown = f"{found['kind'].lower()}/{found['name']}"
    yield f"{shown} in {found['namespace']}: {found['status']}{where}, {human_duration(lasted)} from first to last"
    if found.get("sentence"):
        yield from textwrap.wrap(found["sentence"], _WIDTH, initial_indent="  ", subsequent_indent="  ")
    for each in found.get("troubles", ()):
        yield from textwrap.wrap(f"  trouble   {each}", _WIDTH, subsequent_indent=" " * 12)
    yield ""
    for each in moments:
        after = "" if each["afterSeconds"] is None else f"+{human_duration(each['afterSeconds'])}"
        head = f"  {each['time']}  {after:>7}  "
        yield from textwrap.wrap(head + each["what"], _WIDTH, subsequent_indent=" " * len(head))
