"""The version of an API server, and which resources it serves."""

from __future__ import annotations

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE

from .client import Client
from .errors import NotFound, ProtocolError
from .resource import Resource

__all__ = ["Version", "server_version", "serves"]


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


async def server_version(client: Client) -> Version:
    """The version of the server; every authenticated user may read it."""
    try:
        return msgspec.json.decode(await client.call("GET", "/version"), type=Version)
    except UNREADABLE as error:
        raise ProtocolError(f"not a version: {error}") from error


async def serves(client: Client, resource: Resource) -> bool:
    """Whether the server serves a resource in exactly that version."""
    path = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    try:
        found = msgspec.json.decode(await client.call("GET", path), type=_ResourceList)
    except NotFound:
        return False
    except UNREADABLE as error:
        raise ProtocolError(f"{path} does not list resources: {error}") from error
    return any(served.name == resource.plural for served in found.resources or ())
