"""Finds out whether an object exists on a cluster, by reading nothing but its metadata."""

from __future__ import annotations

from typing import NamedTuple

from jobrelay.kube import Client, Forbidden, NotFound, Object
from jobrelay.relay.dependencies.answers import Presence
from jobrelay.workloads import ObjectName


class ObjectLookup(NamedTuple):
    """The result of looking up an object: its metadata, or why it is not known whether it exists."""

    presence: Presence
    detail: str = ""
    found: Object | None = None


async def look_for(client: Client, target: ObjectName) -> ObjectLookup:
    """Look for an object; raises KubeError if the cluster does not answer."""
    resource = target.resource
    try:
        return ObjectLookup(
            Presence.PRESENT, found=await client.get_metadata(resource, target.name, target.namespace or None)
        )
    except NotFound as error:
        details = error.status.details
        if details is not None and details.name == target.name:
            return ObjectLookup(Presence.MISSING)
        return ObjectLookup(Presence.UNCHECKED, f"it does not serve {resource.api_version} {resource.kind}")
    except Forbidden:
        return ObjectLookup(Presence.UNCHECKED, f"the relay may not get {resource}")
    except ValueError:
        return ObjectLookup(Presence.MISSING, "no object can have that name")
