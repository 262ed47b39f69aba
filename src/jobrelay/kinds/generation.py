"""Helpers shared by the prepare hooks of many kinds: keep status or spec, count generations."""

from __future__ import annotations

from typing import Any

from jobrelay.kinds.strategy import Obj


def start_generation(obj: Obj) -> None:
    """A new object with a spec starts at generation 1."""
    obj["metadata"]["generation"] = 1


def bump_generation(new: Obj, old: Obj, *, changed: bool) -> None:
    """The generation of the stored object, one more when the spec changed."""
    generation = old["metadata"].get("generation", 0) + (1 if changed else 0)
    if generation:
        new["metadata"]["generation"] = generation
    else:
        new["metadata"].pop("generation", None)


def keep(new: Obj, old: Obj, field: str) -> None:
    """Takes a top-level field from the stored object, also when it is absent there."""
    value: Any = old.get(field)
    if field in old:
        new[field] = value
    else:
        new.pop(field, None)


_FIXED_BY_STATUS = ("deletionTimestamp", "generation", "labels", "annotations", "finalizers", "ownerReferences")


def keep_metadata(new: Obj, old: Obj) -> None:
    """What a write to the status of some kinds leaves alone: all metadata but managedFields."""
    for name in _FIXED_BY_STATUS:
        if name in old["metadata"]:
            new["metadata"][name] = old["metadata"][name]
        else:
            new["metadata"].pop(name, None)
