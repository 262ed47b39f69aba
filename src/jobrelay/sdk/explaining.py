"""Why a workload is where it is: by the relay, or, if that cannot be asked, by what the management cluster has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobrelay.kube import Client, Forbidden, Object
from jobrelay.kube.resource import EVENTS_CORE
from jobrelay.relay.run_history import run_history
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.sdk.relay_api import RelayAddress, try_query_relay
from jobrelay.sdk.workloads import get_workload, is_delegated, workload_status
from jobrelay.workloads import Adapter

__all__ = ["event_time", "events_of", "explain_workload", "sentence_of"]


async def explain_workload(
    client: Client, at: RelayAddress, adapter: Adapter, name: str, namespace: str, changes: Sequence[str] = ()
) -> dict[str, Any]:
    """The relay's explanation; without a relay, one with the key `relayUnreachable`, which says why.

    With `changes` (`quota.cpu=+10`) also what would be after them. Raises RelayError.
    """
    obj = await get_workload(client, adapter, name, namespace)
    query = {"if": list(changes)} if changes else None
    reply = await try_query_relay(client, at, f"/explain/{namespace}/{adapter.resource}/{name}", query)
    if reply.value is not None:
        found: dict[str, Any] = reply.value
        return found
    unseen = f"the relay has not seen this {adapter.resource.kind} yet"
    return await _without_relay(client, adapter, obj, reply.problem or unseen)


async def sentence_of(client: Client, at: RelayAddress, adapter: Adapter, name: str, namespace: str) -> str:
    """What the relay says in one sentence; empty if it cannot be asked or has not seen the workload yet."""
    reply = await try_query_relay(client, at, f"/explain/{namespace}/{adapter.resource}/{name}")
    return str((reply.value or {}).get("sentence", ""))


async def events_of(client: Client, obj: Object) -> list[dict[str, Any]]:
    """The events about an object, the oldest first."""
    listed = await client.list(EVENTS_CORE, obj.namespace, field_selector=f"involvedObject.uid={obj.uid}")
    return sorted((each.decode() for each in listed.items), key=event_time)


def event_time(event: dict[str, Any]) -> str:
    """When an event was last seen."""
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or "")


async def _workers(client: Client) -> list[Any]:
    """The registered workers; none for users that may not list them."""
    from jobrelay.operate.registry import list_workers

    try:
        return list(await list_workers(client))
    except Forbidden:
        return []


async def _without_relay(client: Client, adapter: Adapter, obj: Object, problem: str) -> dict[str, Any]:
    """An explanation from the objects on the management cluster alone. Imports what only this needs."""
    from jobrelay.operate.registry import registered_view
    from jobrelay.relay.takeover import not_delegated

    to, facts = assignment_of(obj), adapter.read(obj)
    status = workload_status(facts)
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
        "runs": run_history(to),
        "workers": [
            {"worker": view.name, "ok": view.connected, "sentence": view.reason or "connected"}
            for view in [registered_view(each, 0) for each in await _workers(client)]
        ],
        "events": [
            {"time": event_time(each), "reason": each.get("reason"), "message": each.get("message")}
            for each in await events_of(client, obj)
        ],
    }
