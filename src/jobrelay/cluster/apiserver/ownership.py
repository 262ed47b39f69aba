"""Field management: which manager owns which fields of an object, and server-side apply.

Every write that is not an apply makes its manager own what it changed. Managers may have used other versions of a kind:
what they own is compared in their version, so objects have to be shown in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobrelay.apimachinery.apply import apply_object, update_managed_fields
from jobrelay.cluster.apiserver.conversions import ConversionNeeded
from jobrelay.cluster.apiserver.errors import ApiError
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.kinds import registry
from jobrelay.kinds.strategy import Obj


def track(
    served: ServedResource, old: Obj | None, new: Obj, *, manager: str, now: str, subresource: str = "",
    sent: list[Any] | None = None,
) -> None:  # fmt: skip
    """Sets the managedFields of `new`. `sent` are the managedFields as the client sent them.

    Where a webhook fails to show the object as one of its managers knows it, it has no managers any more.
    """
    known = _known(served, subresource)
    try:
        managed = update_managed_fields(old, new, manager=manager, now=now, sent=sent, **known)
    except ConversionNeeded as needed:
        raise ConversionNeeded(needed.obj, needed.api_version, required=False) from None
    except ApiError:
        managed = None
    record(new, managed)


def apply(
    served: ServedResource, old: Obj | None, config: Obj, *, manager: str, force: bool, now: str, subresource: str
) -> tuple[Obj, list[dict[str, Any]] | None]:
    """The object with a configuration applied, not yet decoded, and its managedFields; raises PatchError."""
    return apply_object(old, config, manager=manager, force=force, now=now, **_known(served, subresource))


def _known(served: ServedResource, subresource: str) -> dict[str, Any]:
    """What both need to know of a resource."""
    return {
        "subresource": subresource, "api_version": served.api_version, "schema": served.apply_schema,
        "reset_fields": served.strategy.reset_fields.get(subresource, ()),
        "schemas": served.custom.schema_of if served.custom is not None else None, "convert": _convert(served),
    }  # fmt: skip


def record(obj: Obj, managed: list[dict[str, Any]] | None) -> None:
    """Sets or removes the managedFields of an object."""
    set_or_remove(obj["metadata"], "managedFields", managed)


def set_or_remove(metadata: dict[str, Any], key: str, value: list[Any] | None) -> None:
    """Sets a list; an empty one is left out."""
    if value:
        metadata[key] = value
    else:
        metadata.pop(key, None)


def _convert(served: ServedResource) -> Callable[[Obj, str], Obj] | None:
    """The conversion of objects to other versions; None when all versions have the same fields."""
    if served.custom is not None:
        return served.in_version
    if served.plural not in ("horizontalpodautoscalers", "events"):
        return None

    def convert(obj: Obj, version: str) -> Obj:
        stored = obj if served.to_storage is None else served.to_storage(obj)
        group, _, name = version.rpartition("/")
        other = registry.conversion(group, name, served.plural)
        return stored if other is None else other[2](stored)

    return convert
