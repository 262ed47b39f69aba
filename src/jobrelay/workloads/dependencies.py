"""Everything that a workload needs beside itself: what its pod templates name, what its kind names, and what that names
in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from jobrelay.kube import Object
from jobrelay.kube.objects import Key
from jobrelay.workloads.adapter import NOTHING_FOUND, Adapter, Found, WorkloadDemand
from jobrelay.workloads.references import ObjectName, Reference, merged, pod_references

Known: TypeAlias = Mapping[ObjectName, Object]
"""Objects of the management cluster that workloads name."""
_DEEPEST: Final = 8
"""How often it is asked what the objects name that were just found."""


def references_of(adapter: Adapter, obj: Object, known: Known | None = None) -> tuple[Reference, ...]:
    """The references of an original or a mirror, one for each object; those in `known` objects are followed."""
    templates = adapter.pod_templates(obj)
    named = [each for path, template in templates for each in pod_references(template, obj.namespace, path)]
    return merged((*named, *adapter.references(obj, _found_for(adapter, obj, known))))


def demand_of(adapter: Adapter, original: Object, known: Known | None = None) -> WorkloadDemand:
    """What an original needs of a worker, also by the `known` objects that describe its pods."""
    found = _found_for(adapter, original, known)
    return adapter.demand(original, found) if found else adapter.demand(original)


def _found_for(adapter: Adapter, obj: Object, known: Known | None) -> Found:
    """The known objects that a workload names, and those that they name in turn."""
    found = NOTHING_FOUND
    for _ in range(_DEEPEST if known else 0):
        more = _found(adapter.references(obj, found), known or {})
        if more.keys() <= found.keys():
            break
        found = more
    return found


def _found(references: tuple[Reference, ...], known: Known) -> Found:
    return {
        (each.resource, Key(each.namespace, each.name)): known[each.target]
        for each in references
        if each.target in known
    }
