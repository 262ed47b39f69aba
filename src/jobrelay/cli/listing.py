"""What `jobrelay get` shows: which kinds and objects are chosen, and their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.explanation import line_text
from jobrelay.cli.job_rows import job_row
from jobrelay.cli.kinds import Kinds
from jobrelay.cli.management import Management
from jobrelay.cli.workloads import workload_row
from jobrelay.kube import Client, Forbidden, NotFound, Object, SystemClock
from jobrelay.kube.resource import JOBS
from jobrelay.operate.kinds import served_adapters
from jobrelay.sdk.relay_api import RelayReply, try_query_relay
from jobrelay.sdk.workloads import find_adapter, get_workload, is_delegated, not_served
from jobrelay.workloads import Adapter

__all__ = ["Listing", "choose", "reason_of", "rows_of", "with_view"]

Row = dict[str, Any]
_KNOWN_BY_STAGE: Final = {"Running": "Running", "NotRunning": "NotRunning", "WorkerLost": "Lost", "Frozen": "Lost"}


@dataclass(frozen=True, slots=True)
class Listing:
    """The kinds to list or watch in one table, or one object of a kind."""

    adapters: Sequence[Adapter]
    namespace: str | None
    """None for all."""
    name: str = ""
    labels: str = ""
    """A label selector."""
    statuses: frozenset[str] = frozenset()
    """The statuses that are shown, in lower case; all if there are none."""

    def shows(self, row: Row) -> bool:
        """Whether a row has one of the chosen statuses."""
        return not self.statuses or row["status"].lower() in self.statuses

    @property
    def jobs_only(self) -> bool:
        """Whether it is the table of Jobs, which has more columns."""
        return [each.resource for each in self.adapters] == [JOBS]

    def row(self, adapter: Adapter, obj: Object, view: Mapping[str, Any]) -> Row:
        """`view` is what the relay says about it; empty if it says nothing."""
        now = SystemClock().now()
        row = job_row(obj, now) if self.jobs_only else workload_row(adapter, obj, now)
        return with_view(row, view)


async def choose(
    client: Client,
    management: Management,
    kinds: Kinds,
    what: str,
    namespace: str | None,
    labels: str = "",
    statuses: frozenset[str] = frozenset(),
) -> tuple[Listing, Listing]:
    """What an argument means, as Jobs and as workloads of other kinds; each may have no kinds.

    It is `workers`, `workloads`, `all`, KIND or KIND/NAME.
    """
    kind, _, name = what.partition("/")
    if what == "workers":
        return Listing((), namespace), Listing((), namespace)
    adapters = await kinds.adapters(client, management)
    if what in ("all", "workloads"):
        served = await served_adapters(client, adapters)
        jobs = [each for each in served if each.resource == JOBS and kind == "all"]
        others = [each for each in served if each.resource != JOBS]
    else:
        chosen = find_adapter(kind, adapters)
        await _check_served(client, chosen)
        jobs = [chosen] if chosen.resource == JOBS else []
        others = [] if jobs else [chosen]
    return Listing(jobs, namespace, name, labels, statuses), Listing(others, namespace, name, labels, statuses)


async def _check_served(client: Client, adapter: Adapter) -> None:
    if not await served_adapters(client, [adapter]):
        raise not_served(adapter)


async def rows_of(client: Client, management: Management, listing: Listing) -> tuple[list[Row], str]:
    """The rows of a listing, and why the relay could not be asked about them; raises Failure."""
    query = {"namespace": listing.namespace} if listing.namespace else None
    reply = await try_query_relay(client, management, "/workloads", query)
    rows = [row for adapter in listing.adapters for row in await _rows(client, listing, adapter, reply)]
    return [row for row in rows if listing.shows(row)], reply.problem


async def _rows(client: Client, listing: Listing, adapter: Adapter, reply: RelayReply) -> list[Row]:
    kind = adapter.resource.kind
    told = {(each["namespace"], each["name"]): each for each in reply.value or () if each["kind"] == kind}
    found = await _objects(client, listing, adapter)
    return [listing.row(adapter, obj, told.get((obj.namespace, obj.name), {})) for obj in found]


def with_view(row: Row, view: Mapping[str, Any]) -> Row:
    """A row with what the relay knows better than the management cluster: whether its worker answers and its pods run.

    `why` is empty for workloads that run or have finished, and have no trouble.
    """
    sentence, status = reason_of(view), row["status"]
    stage = view.get("stage", "")
    if status in ("Running", "NotRunning") or (status, stage) == ("Waiting", "NotRunning"):
        status = _KNOWN_BY_STAGE.get(stage, status)
    calm = status in ("Complete", "Failed") or (status == "Running" and row["cluster"] is not None)
    quiet = calm and not view.get("troubles")
    return {**row, "status": status, "why": "" if quiet else sentence, "sentence": sentence}


def reason_of(view: Mapping[str, Any]) -> str:
    """What the relay says about a workload: its place in line, if it is in line, and its sentence."""
    line = line_text(view.get("line"))
    sentence = str(view.get("sentence", ""))
    return f"Place {line}. {sentence}" if line else sentence


async def _objects(client: Client, listing: Listing, adapter: Adapter) -> list[Object]:
    """The delegated objects of a kind; of a kind that may not be listed, none with a note."""
    resource = adapter.resource
    if listing.name:
        found = await get_workload(client, adapter, listing.name, listing.namespace or "")
        if not is_delegated(adapter, adapter.read(found)):
            hint = f"`jobrelay explain {resource.kind.lower()}/{found.name}` says by which value it would be"
            raise Failure(f"{resource.kind} {found.key} is not delegated to the relay", hint)
        return [found]
    try:
        listed = (await client.list(resource, listing.namespace, label_selector=listing.labels)).items
    except (Forbidden, NotFound) as error:
        click.echo(f"note: {resource} cannot be listed: {error}", err=True)
        return []
    return [obj for obj in listed if is_delegated(adapter, adapter.read(obj))]
