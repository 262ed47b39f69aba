"""The version of an API server, and which resources it serves."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE

from .client import Client
from .errors import NotFound, ProtocolError
from .resource import Resource

__all__ = ["Version", "served_of", "server_version", "serves"]


class Version(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The response of `/version`."""

    major: str = ""
    minor: str = ""
    git_version: str = ""
    compiler: str = ""


class _Served(msgspec.Struct, gc=False):
    name: str


class _ResourceList(msgspec.Struct, gc=False):
    resources: list[_Served] | None = None


class _GroupVersion(msgspec.Struct, gc=False, rename="camel"):
    group_version: str = ""


class _Group(msgspec.Struct, gc=False):
    versions: list[_GroupVersion] | None = None


class _GroupList(msgspec.Struct, gc=False):
    groups: list[_Group] | None = None


async def server_version(client: Client) -> Version:
    """The version of the server; every authenticated user may read it."""
    try:
        return msgspec.json.decode(await client.call("GET", "/version"), type=Version)
    except UNREADABLE as error:
        raise ProtocolError(f"not a version: {error}") from error


async def serves(client: Client, resource: Resource) -> bool:
    """Whether the server serves a resource in exactly that version."""
    return resource.plural in await _plurals(client, resource.api_version)


async def _plurals(client: Client, api_version: str) -> frozenset[str]:
    """The resources of one version of an API group."""
    path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    try:
        found = msgspec.json.decode(await client.call("GET", path), type=_ResourceList)
    except NotFound:
        return frozenset()
    except UNREADABLE as error:
        raise ProtocolError(f"{path} does not list resources: {error}") from error
    return frozenset(served.name for served in found.resources or ())


async def served_of(client: Client, resources: Collection[Resource]) -> frozenset[Resource]:
    """Those of some resources of named API groups that the server serves in exactly these versions."""
    if not resources:
        return frozenset()
    try:
        found = msgspec.json.decode(await client.call("GET", "/apis"), type=_GroupList)
    except UNREADABLE as error:
        raise ProtocolError(f"/apis does not list API groups: {error}") from error
    versions = {version.group_version for group in found.groups or () for version in group.versions or ()}
    wanted = {resource.api_version for resource in resources} & versions
    served = {each: await _plurals(client, each) for each in sorted(wanted)}
    return frozenset(resource for resource in resources if resource.plural in served.get(resource.api_version, ()))
