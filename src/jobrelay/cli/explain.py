"""`jobrelay explain`: explains why a delegated Job is where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.arguments import JOB, get_job
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option

if TYPE_CHECKING:
    from jobrelay.kube import Client, Object


@click.command(short_help="Explain why a delegated Job is where it is.")
@JOB
@NAMESPACE
@output_option("text", "json", "yaml")
@management_options
def explain(name: str, namespace: str | None, output: str, management: Management) -> None:
    """Explain why a delegated Job is where it is: a sentence, its stage, and whether each worker could run it.

    The explanation comes from the relay, so it shows what the relay's decisions are based on. If the relay cannot be
    reached, a note says so, and what the management cluster knows is shown instead.

    \b
    jobrelay explain job/train
    jobrelay explain job/train -n research -o json
    """
    from jobrelay.cli.explanation import print_explanation

    print_explanation(run(_explain(name, namespace, management)), output)


async def _explain(name: str, namespace: str | None, management: Management) -> dict[str, Any]:
    from jobrelay.cli.relay_api import try_query_relay

    async with management.connect() as client:
        where = management.namespace(namespace)
        job = await get_job(client, name, where)
        reply = await try_query_relay(client, management, f"/explain/{where}/job/{name}")
        if reply.value is not None:
            found: dict[str, Any] = reply.value
            return found
        return await _without_relay(client, job, reply.problem or "the relay has not seen this Job yet")


async def _without_relay(client: Client, job: Object, problem: str) -> dict[str, Any]:
    """An explanation from the objects on the management cluster alone."""
    from jobrelay.cli.job_rows import is_delegated, job_status
    from jobrelay.kube.resource import EVENTS_CORE
    from jobrelay.operate.registry import list_workers, registered_view
    from jobrelay.relay.assignment import assignment_of

    to, body = assignment_of(job), job.decode()
    status = job_status(body)
    selector = f"involvedObject.uid={job.uid}"
    events = [each.decode() for each in (await client.list(EVENTS_CORE, job.namespace, field_selector=selector)).items]
    sentence = f"It is {status.lower()}, and {f'assigned to {to.cluster}' if to else 'no worker has been chosen yet'}."
    if not is_delegated(body):
        sentence = f"It is not delegated to the relay: spec.managedBy is {body['spec'].get('managedBy', 'not set')}."
    return {
        "kind": "Job",
        "namespace": job.namespace,
        "name": job.name,
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
