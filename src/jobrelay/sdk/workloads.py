"""Workloads of any kind that can be delegated: how they are found, and how far they have got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobrelay.kube import Client, NotFound, Object
from jobrelay.relay.workload_status import workload_status
from jobrelay.sdk.errors import RelayError
from jobrelay.workloads import Adapter, Workload

__all__ = ["find_adapter", "get_workload", "is_delegated", "not_served", "workload_status"]


def find_adapter(kind: str, adapters: Sequence[Adapter]) -> Adapter:
    """The adapter of a kind that is named as in kubectl: `jobset`, `jobsets` or `jobsets.jobset.x-k8s.io`."""
    found = next((adapter for adapter in adapters if kind.lower() in _names(adapter)), None)
    if found is None:
        known = ", ".join(sorted(adapter.resource.kind.lower() for adapter in adapters))
        raise RelayError(
            f"{kind!r} is not a kind that can be delegated; these can: {known}",
            "--kind-file FILE describes another kind, as for the relay",
        )
    return found


def _names(adapter: Adapter) -> Iterator[str]:
    resource = adapter.resource
    for name in (resource.kind.lower(), resource.plural):
        yield from (name, f"{name}.{resource.group}")


async def get_workload(client: Client, adapter: Adapter, name: str, namespace: str) -> Object:
    """The object that an argument names; raises RelayError if it does not exist."""
    resource = adapter.resource
    try:
        return await client.get(resource, name, namespace)
    except NotFound as error:
        if error.status.details is None or error.status.details.name != name:
            raise not_served(adapter) from None
        hint = "`jobrelay get -A` lists what is delegated"
        raise RelayError(f"{resource.kind} {namespace}/{name} does not exist", hint) from None


def not_served(adapter: Adapter) -> RelayError:
    """That the management cluster has no such kind."""
    resource = adapter.resource
    return RelayError(
        f"the management cluster does not serve {resource}/{resource.version}",
        f"install the CustomResourceDefinition of {resource.kind}s there",
    )


def is_delegated(adapter: Adapter, facts: Workload) -> bool:
    return facts.managed_by in adapter.managers
