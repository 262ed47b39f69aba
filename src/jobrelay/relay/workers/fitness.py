"""Why a worker cannot run a kind, in words: what it serves, and what became of the watches of that kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jobrelay.kube import Cache, Resource
from jobrelay.relay.workers.reasons import describe
from jobrelay.relay.workers.served_kinds import Serving
from jobrelay.relay.workload_kind import is_built_in


def why_unserved(resource: Resource, state: Serving) -> str:
    """Why a kind that is in use cannot be watched; empty if it can be."""
    match state:
        case Serving.SERVED:
            return ""
        case Serving.UNKNOWN:
            return f"it is not known yet whether it serves {resource}/{resource.version}"
        case _:
            return f"it does not serve {resource}/{resource.version}"


def why_unfit(resource: Resource, state: Serving, parts: Sequence[Cache], missing: Mapping[Cache, str]) -> str:
    """Why no workload of a kind in use can be run; empty if some can, or if the whole worker cannot be reached.

    `parts` are the caches of its mirrors, `missing` says why some caches cannot be filled.
    """
    if unserved := why_unserved(resource, state):
        return unserved
    if parts and all(part in missing for part in parts):
        return f"its {resource} cannot be used: {missing[parts[0]]}"
    if is_built_in(resource) or any(part.connected for part in parts):
        return ""
    error = next((part.last_error for part in parts if part.last_error is not None), None)
    return f"its {resource} cannot be read: {describe(error)}" if error else f"its {resource} are being read"


def why_missing(parts: Sequence[Cache], missing: Mapping[Cache, str]) -> str:
    """Where a kind may not be read, and why; empty if it may be everywhere."""
    several = len(parts) > 1
    found = [part for part in parts if part in missing]
    return "; ".join(f"in namespace {part.namespace}: {missing[part]}" if several else missing[part] for part in found)
