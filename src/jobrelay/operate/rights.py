"""Asking a cluster what the caller may do there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from jobrelay.kube import Client, Resource
from jobrelay.kube.resource import SELFSUBJECTACCESSREVIEWS

__all__ = ["Right", "listed", "missing"]


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a kind, in one namespace or in all."""

    verb: str
    resource: Resource
    namespace: str = ""
    subresource: str = ""
    name: str = ""

    @property
    def object(self) -> str:
        """What the verb is about: `pods/log in namespace a`."""
        part = f"/{self.subresource}" if self.subresource else ""
        group = f".{self.resource.group}" if self.resource.group else ""
        which = f" {self.name}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.resource.plural}{part}{group}{which}{where}"


def listed(rights: Iterable[Right]) -> str:
    """Rights in words, those on the same thing together: `get, list pods in namespace a; ...`."""
    verbs: dict[str, list[str]] = {}
    for right in rights:
        verbs.setdefault(right.object, []).append(right.verb)
    return "; ".join(f"{', '.join(which)} {what}" for what, which in verbs.items())


class _Status(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


async def missing(client: Client, rights: Iterable[Right]) -> list[Right]:
    """Those of the rights that the caller does not have."""
    asked = list(rights)
    answers = await asyncio.gather(*(_allowed(client, right) for right in asked))
    return [right for right, allowed in zip(asked, answers, strict=True) if not allowed]


async def _allowed(client: Client, right: Right) -> bool:
    attributes = {
        "verb": right.verb,
        "group": right.resource.group,
        "version": right.resource.version,
        "resource": right.resource.plural,
        "subresource": right.subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    body = {
        "apiVersion": SELFSUBJECTACCESSREVIEWS.api_version,
        "kind": SELFSUBJECTACCESSREVIEWS.kind,
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    return (await client.create(SELFSUBJECTACCESSREVIEWS, body)).decode(_Review).status.allowed
