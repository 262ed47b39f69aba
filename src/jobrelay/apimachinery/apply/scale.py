"""managedFields of `/scale`: one field of the parent, seen as `spec.replicas` of a Scale.

Managers of the parent that own its replicas own those of the Scale. A write to the Scale is tracked on the Scale and
converted back: the writer then owns the replicas of the parent through the subresource, and no other manager does. As
on the real server, times are lost by the conversion, and updaters of the replicas get an entry of their own.
"""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.apply.entries import Managers, Wire, read, write
from jobrelay.apimachinery.apply.fieldset import Fields, difference, from_paths, has

SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final = ("f:spec", "f:replicas")
_SCALE_FIELDS: Final[Fields] = {"f:spec": {"f:replicas": {}}}


def to_scale(parent: Wire | None, path: tuple[str, ...], versions: frozenset[str]) -> Wire | None:
    """The managedFields that a Scale shows; path is where the parent has its replicas, in all of `versions`."""
    elements = tuple(f"f:{name}" for name in path)
    found: Managers = {}
    for identity, entry in read(parent, trusted=True).items():
        if entry.version in versions and has(entry.fields, elements):
            found[identity] = entry._replace(version=SCALE_VERSION, fields=_SCALE_FIELDS)
    return write(found)


def to_parent(
    parent: Wire | None, scale: Wire | None, path: tuple[str, ...], versions: frozenset[str], version: str
) -> Wire | None:
    """The managedFields of the parent after a write to its Scale; version is that of the parent."""
    elements, owned = tuple(f"f:{name}" for name in path), from_paths((path,))
    writers = read(scale, trusted=True)
    found: Managers = {}
    for identity, entry in read(parent, trusted=True).items():
        if entry.version not in versions:
            continue
        if not has(entry.fields, elements) or writers.pop(identity, None) is not None:
            found[identity] = entry
        elif rest := difference(entry.fields, owned):
            found[identity] = entry.with_fields(rest)
    for identity, entry in writers.items():
        if has(entry.fields, _REPLICAS):
            found[identity] = entry._replace(version=version, fields=owned, time="")
    return write(found)
