"""Helpers shared by the prepare hooks of many kinds: keep status or spec, count generations."""

from __future__ import annotations

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
    """Takes a field from the stored object, also when it is absent there."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def keep_spec(new: Obj, old: Obj) -> None:
    keep(new, old, "spec")


def keep_status(new: Obj, old: Obj) -> None:
    keep(new, old, "status")


def count_spec_changes(new: Obj, old: Obj) -> None:
    bump_generation(new, old, changed=new["spec"] != old["spec"])


def prepare_spec_update(new: Obj, old: Obj) -> None:
    """What an update of most kinds with a status does."""
    keep_status(new, old)
    count_spec_changes(new, old)


_FIXED_BY_STATUS = ("deletionTimestamp", "generation", "labels", "annotations", "finalizers", "ownerReferences")


def keep_all_but_status(new: Obj, old: Obj) -> None:
    """What a write to the status of some kinds leaves alone: the spec and all metadata but managedFields."""
    keep_spec(new, old)
    for name in _FIXED_BY_STATUS:
        if name in old["metadata"]:
            new["metadata"][name] = old["metadata"][name]
        else:
            new["metadata"].pop(name, None)
