"""Finds out whether an object exists on a cluster, by reading nothing but its metadata."""

from __future__ import annotations

from typing import NamedTuple

from jobrelay.kube import Client, Forbidden, NotFound, Object
from jobrelay.relay.dependencies.answers import Presence
from jobrelay.workloads import ObjectName


class Look(NamedTuple):
    """What came of looking for an object: its metadata, or why it is not known whether it exists."""

    presence: Presence
    detail: str = ""
    found: Object | None = None


async def look_for(client: Client, target: ObjectName) -> Look:
    """Look for an object; raises KubeError if the cluster does not answer."""
    resource = target.resource
    try:
        return Look(Presence.PRESENT, found=await client.get_metadata(resource, target.name, target.namespace or None))
    except NotFound as error:
        details = error.status.details
        if details is not None and details.name == target.name:
            return Look(Presence.MISSING)
        return Look(Presence.UNCHECKED, f"it does not serve {resource.api_version} {resource.kind}")
    except Forbidden:
        return Look(Presence.UNCHECKED, f"the relay may not get {resource}")
    except ValueError:
        return Look(Presence.MISSING, "no object can have that name")
