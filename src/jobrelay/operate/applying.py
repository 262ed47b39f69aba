"""Bringing manifests about on a cluster, one object after the other, and saying so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from jobrelay.kube import Client, NotFound, Object, Resource
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.manifests import Manifest, describe, resource_of

__all__ = ["MANAGER", "Step", "Tell", "apply", "ignore", "remove"]

MANAGER: Final = "jobrelay-cli"


class Step(msgspec.Struct, frozen=True):
    """Something that was done to a cluster, or would be."""

    cluster: str
    """`management` or `worker`."""
    action: str
    object: str


Tell: TypeAlias = Callable[[Step], None]


def ignore(step: Step) -> None:
    """Tells nobody."""


async def apply(client: Client, manifests: Iterable[Manifest], cluster: str, tell: Tell, *, dry_run: bool) -> None:
    """Server-side apply in this order. Definitions that are there, Kueue's perhaps, are left as they are."""
    for manifest in manifests:
        resource = resource_of(manifest)
        before = await find(client, resource, manifest["metadata"]["name"], manifest["metadata"].get("namespace"))
        if before is not None and resource == CUSTOMRESOURCEDEFINITIONS:
            tell(Step(cluster, "left as it is", describe(manifest)))
            continue
        action = "created" if before is None else "applied"
        if not dry_run:
            after = await client.apply(resource, manifest, field_manager=MANAGER, force=True)
            if before is not None and before.resource_version == after.resource_version:
                action = "unchanged"
        tell(Step(cluster, action if not dry_run else f"would be {action}", describe(manifest)))


async def remove(
    client: Client, resource: Resource, objects: Sequence[Object], cluster: str, tell: Tell, *, dry_run: bool
) -> None:
    """Deletes objects; one that is gone already is as good as deleted."""
    for obj in objects:
        if not dry_run:
            try:
                await client.delete(resource, obj.name, obj.namespace or None, uid=obj.uid)
            except NotFound:
                continue
        where = {"namespace": obj.namespace} if obj.namespace else {}
        what = describe({"kind": resource.kind, "metadata": {"name": obj.name, **where}})
        tell(Step(cluster, "would be deleted" if dry_run else "deleted", what))


async def find(client: Client, resource: Resource, name: str, namespace: str | None = None) -> Object | None:
    """One object, if it and its kind are there."""
    try:
        return await client.get(resource, name, namespace)
    except NotFound:
        return None
