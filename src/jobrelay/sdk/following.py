"""Follows one object of the management cluster by a watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from jobrelay.kube import Client, Expired, Object
from jobrelay.kube.watch import EventType
from jobrelay.sdk.errors import RelayError, WaitTimeout
from jobrelay.sdk.workloads import get_workload
from jobrelay.workloads import Adapter

__all__ = ["until_end", "versions"]


async def versions(client: Client, adapter: Adapter, name: str, namespace: str) -> AsyncIterator[Object]:
    """The object as it is now, and each later version; raises RelayError when it is deleted, or replaced by another."""
    resource, uid, selector = adapter.resource, "", f"metadata.name={name}"
    while True:
        found = await get_workload(client, adapter, name, namespace)
        _check_same(adapter, found, uid)
        uid, version = found.uid, found.resource_version
        yield found
        try:
            while True:
                watch = client.watch(resource, namespace, resource_version=version, field_selector=selector)
                async with watch as events:
                    async for event in events:
                        version = event.object.resource_version or version
                        if event.type is EventType.DELETED:
                            raise _deleted(adapter, event.object)
                        if event.type is not EventType.BOOKMARK:
                            _check_same(adapter, event.object, uid)
                            yield event.object
        except Expired:
            continue


def _check_same(adapter: Adapter, found: Object, uid: str) -> None:
    if uid and found.uid != uid:
        raise _deleted(adapter, found)


def _deleted(adapter: Adapter, obj: Object) -> RelayError:
    kind = adapter.resource.kind
    return RelayError(f"{kind} {obj.key} was deleted", f"`jobrelay get {kind.lower()}` lists those that are there")


async def until_end(
    client: Client,
    adapter: Adapter,
    name: str,
    namespace: str,
    *,
    within: float | None = None,
    on_change: Callable[[Object], None] = lambda _: None,
) -> Object:
    """The object when it has ended; `on_change` sees every version. Raises WaitTimeout."""
    try:
        async with asyncio.timeout(within):
            async for found in versions(client, adapter, name, namespace):
                on_change(found)
                if adapter.read(found).end is not None:
                    return found
    except TimeoutError:
        kind = adapter.resource.kind
        shown = f"{kind.lower()}/{name} -n {namespace}"
        raise WaitTimeout(
            f"{kind} {namespace}/{name} has not ended within {within:g} s", f"`jobrelay explain {shown}` says why"
        ) from None
    raise AssertionError("versions never ends")
