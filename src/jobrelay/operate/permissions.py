"""Finds out what the caller may do on a cluster, by SelfSubjectAccessReviews."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from jobrelay.kube import Client, Resource
from jobrelay.kube.resource import SELFSUBJECTACCESSREVIEWS

__all__ = ["Permission", "describe_permissions", "missing_permissions"]


@dataclass(frozen=True, slots=True)
class Permission:
    """A verb on a resource, in one namespace or, without one, in all."""

    verb: str
    resource: Resource
    namespace: str = ""
    subresource: str = ""
    name: str = ""

    @property
    def object(self) -> str:
        """What the verb applies to: `pods/log in namespace a`."""
        part = f"/{self.subresource}" if self.subresource else ""
        group = f".{self.resource.group}" if self.resource.group else ""
        which = f" {self.name}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.resource.plural}{part}{group}{which}{where}"


def describe_permissions(permissions: Iterable[Permission]) -> str:
    """Permissions grouped by what they apply to: `get, list pods in namespace a; ...`."""
    verbs: dict[str, list[str]] = {}
    for permission in permissions:
        verbs.setdefault(permission.object, []).append(permission.verb)
    return "; ".join(f"{', '.join(which)} {what}" for what, which in verbs.items())


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus = msgspec.field(default_factory=_ReviewStatus)


async def missing_permissions(client: Client, permissions: Iterable[Permission]) -> list[Permission]:
    """The permissions that the caller does not have."""
    needed = list(permissions)
    allowed = await asyncio.gather(*(_is_allowed(client, permission) for permission in needed))
    return [permission for permission, granted in zip(needed, allowed, strict=True) if not granted]


async def _is_allowed(client: Client, permission: Permission) -> bool:
    attributes = {
        "verb": permission.verb,
        "group": permission.resource.group,
        "version": permission.resource.version,
        "resource": permission.resource.plural,
        "subresource": permission.subresource,
        "namespace": permission.namespace,
        "name": permission.name,
    }
    body = {
        "apiVersion": SELFSUBJECTACCESSREVIEWS.api_version,
        "kind": SELFSUBJECTACCESSREVIEWS.kind,
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    return (await client.create(SELFSUBJECTACCESSREVIEWS, body)).decode(_Review).status.allowed
