"""Applies manifests to a cluster and deletes objects from it, one by one, and reports each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from jobrelay.kube import Client, NotFound, Object, Resource
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.manifests import Manifest, describe, resource_of

__all__ = ["MANAGER", "ReportStep", "Step", "apply", "find", "ignore", "remove", "same_content"]

MANAGER: Final = "jobrelay-cli"
"""The field manager of everything that operators' commands apply."""


class Step(msgspec.Struct, frozen=True):
    """A change that was made to a cluster, or would be made without `dry_run`."""

    cluster: str
    """`management` or `worker`."""
    action: str
    object: str


ReportStep: TypeAlias = Callable[[Step], None]


def ignore(step: Step) -> None:
    """A ReportStep that does nothing."""


async def apply(
    client: Client, manifests: Iterable[Manifest], cluster: str, report: ReportStep, *, dry_run: bool
) -> None:
    """Server-side apply, in the given order. Existing CustomResourceDefinitions, such as Kueue's, are not changed."""
    for manifest in manifests:
        resource = resource_of(manifest)
        before = await find(client, resource, manifest["metadata"]["name"], manifest["metadata"].get("namespace"))
        if before is not None and resource == CUSTOMRESOURCEDEFINITIONS:
            report(Step(cluster, "left as it is", describe(manifest)))
            continue
        action = "created" if before is None else "applied"
        if not dry_run:
            after = await client.apply(resource, manifest, field_manager=MANAGER, force=True)
            if before is not None and same_content(before, after):
                action = "unchanged"
        report(Step(cluster, action if not dry_run else f"would be {action}", describe(manifest)))


async def remove(
    client: Client, resource: Resource, objects: Sequence[Object], cluster: str, report: ReportStep, *, dry_run: bool
) -> None:
    """Deletes objects; those that are already gone are skipped."""
    for obj in objects:
        if not dry_run:
            try:
                await client.delete(resource, obj.name, obj.namespace or None, uid=obj.uid)
            except NotFound:
                continue
        where = {"namespace": obj.namespace} if obj.namespace else {}
        what = describe({"kind": resource.kind, "metadata": {"name": obj.name, **where}})
        report(Step(cluster, "would be deleted" if dry_run else "deleted", what))


def same_content(before: Object, after: Object) -> bool:
    """Whether an apply left an object as it was. Controllers may have written its status in the meantime."""
    return before.resource_version == after.resource_version or _content(before) == _content(after)


def _content(obj: Object) -> dict[str, Any]:
    content = obj.decode()
    content.pop("status", None)
    for name in ("resourceVersion", "managedFields"):
        content["metadata"].pop(name, None)
    return content


async def find(client: Client, resource: Resource, name: str, namespace: str | None = None) -> Object | None:
    """One object; None if it, or its whole kind, does not exist."""
    try:
        return await client.get(resource, name, namespace)
    except NotFound:
        return None
