"""`jobrelay explain`: explains why a delegated workload is where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.arguments import WORKLOAD, WorkloadName
from jobrelay.cli.errors import Failure
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option

if TYPE_CHECKING:
    from jobrelay.kube import Client, Object
    from jobrelay.workloads import Adapter


@click.command(short_help="Explain why a delegated workload is where it is.")
@WORKLOAD
@NAMESPACE
@click.option(
    "--if", "changes", metavar="quota.RESOURCE=[+-]AMOUNT", multiple=True,
    help="Say what would become of a queued workload with another quota of its ClusterQueue; can be repeated.",
)  # fmt: skip
@output_option("text", "json", "yaml")
@kind_options
@management_options
def explain(
    workload: WorkloadName,
    namespace: str | None,
    changes: tuple[str, ...],
    output: str,
    kinds: Kinds,
    management: Management,
) -> None:
    """Explain why a delegated workload is where it is: a sentence, its stage, and whether each worker could run it.

    The explanation comes from the relay, so it shows what the relay's decisions are based on. If the relay cannot be
    reached, a note says so, and what the management cluster knows is shown instead. Of a queued workload it shows the
    place in its queue and the quotas that were looked at, also if it is not delegated.

    \b
    jobrelay explain job/train
    jobrelay explain job/train -n research -o json
    jobrelay explain jobset/train
    jobrelay explain pipelinerun/build
    jobrelay explain job/train --if quota.cpu=+10
    """
    from jobrelay.cli.explanation import print_explanation

    print_explanation(run(_explain(workload, namespace, changes, kinds, management)), output)


async def _explain(
    workload: WorkloadName, namespace: str | None, changes: tuple[str, ...], kinds: Kinds, management: Management
) -> dict[str, Any]:
    from jobrelay.cli.relay_api import try_query_relay
    from jobrelay.cli.workloads import find_adapter, get_workload

    async with management.connect() as client:
        name, where = workload.name, management.namespace(namespace)
        adapter = find_adapter(workload.kind, await kinds.adapters(client, management))
        obj = await get_workload(client, adapter, name, where)
        path, query = f"/explain/{where}/{adapter.resource}/{name}", {"if": list(changes)} if changes else None
        reply = await try_query_relay(client, management, path, query)
        if reply.value is not None:
            found: dict[str, Any] = reply.value
            if changes and not found.get("queue"):
                raise Failure(
                    "--if: it is in no queue of this relay", "label it kueue.x-k8s.io/queue-name, and see --queueing"
                )
            return found
        if changes and reply.problem:
            raise Failure(f"--if: {reply.problem}", "write --if quota.cpu=+10, for a resource of its ClusterQueue")
        unseen = f"the relay has not seen this {adapter.resource.kind} yet"
        return await _without_relay(client, adapter, obj, reply.problem or unseen)


async def _without_relay(client: Client, adapter: Adapter, obj: Object, problem: str) -> dict[str, Any]:
    """An explanation from the objects on the management cluster alone."""
    from jobrelay.cli.workloads import is_delegated, workload_status
    from jobrelay.kube.resource import EVENTS_CORE
    from jobrelay.operate.registry import list_workers, registered_view
    from jobrelay.relay.assignment import assignment_of
    from jobrelay.relay.takeover import not_delegated

    to, facts = assignment_of(obj), adapter.read(obj)
    status = workload_status(facts)
    selector = f"involvedObject.uid={obj.uid}"
    events = [each.decode() for each in (await client.list(EVENTS_CORE, obj.namespace, field_selector=selector)).items]
    sentence = f"It is {status.lower()}, and {f'assigned to {to.cluster}' if to else 'no worker has been chosen yet'}."
    if not is_delegated(adapter, facts):
        sentence = not_delegated(adapter, facts)
    return {
        "kind": adapter.resource.kind,
        "namespace": obj.namespace,
        "name": obj.name,
        "stage": status,
        "sentence": sentence,
        "cluster": to.cluster if to is not None else "",
        "epoch": to.epoch if to is not None else 0,
        "relayUnreachable": problem,
        "workers": [
            {"worker": view.name, "ok": view.connected, "sentence": view.reason or "connected"}
            for view in [registered_view(each, 0) for each in await list_workers(client)]
        ],
        "events": [
            {"time": _time(each), "reason": each.get("reason"), "message": each.get("message")}
            for each in sorted(events, key=_time)
        ],
    }


def _time(event: dict[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or "")
