"""Field management: who owns which fields of an object, and what an apply makes of it.

Every write that is not an apply makes its manager own what it changed. Managers may have used other versions of a kind: what
they own is compared in their version, so objects have to be shown in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobrelay.apimachinery.apply import Schema, apply_object, update_managed_fields
from jobrelay.cluster.apiserver.resources import Served
from jobrelay.kinds import registry
from jobrelay.kinds.strategy import Obj


def track(
    served: Served, old: Obj | None, new: Obj, *, manager: str, now: str, subresource: str = "",
    sent: list[Any] | None = None,
) -> None:  # fmt: skip
    """Writes into `new` who owns which fields now. `sent` are the managedFields as the client sent them."""
    managed = update_managed_fields(
        old,
        new,
        manager=manager,
        subresource=subresource,
        api_version=served.api_version,
        now=now,
        schema=served.apply_schema,
        reset_fields=served.strategy.reset_fields.get(subresource, ()),
        sent=sent,
        schemas=_schemas(served),
        convert=_convert(served),
    )
    record(new, managed)


def apply(
    served: Served, old: Obj | None, config: Obj, *, manager: str, force: bool, now: str, subresource: str
) -> tuple[Obj, list[dict[str, Any]] | None]:
    """The object with a configuration applied, not yet decoded, and its managedFields; raises PatchError."""
    return apply_object(
        old,
        config,
        manager=manager,
        force=force,
        subresource=subresource,
        api_version=served.api_version,
        now=now,
        schema=served.apply_schema,
        reset_fields=served.strategy.reset_fields.get(subresource, ()),
        schemas=_schemas(served),
        convert=_convert(served),
    )


def record(obj: Obj, managed: list[dict[str, Any]] | None) -> None:
    """Puts managedFields into an object, or takes them away."""
    if managed:
        obj["metadata"]["managedFields"] = managed
    else:
        obj["metadata"].pop("managedFields", None)


def _schemas(served: Served) -> Callable[[str], Schema | None] | None:
    return served.custom.schema_of if served.custom is not None else None


def _convert(served: Served) -> Callable[[Obj, str], Obj] | None:
    """How to show an object of this version in another one; None when all versions look the same."""
    if served.custom is not None:
        return lambda obj, version: {**obj, "apiVersion": version}
    if served.plural not in ("horizontalpodautoscalers", "events"):
        return None

    def convert(obj: Obj, version: str) -> Obj:
        stored = obj if served.to_storage is None else served.to_storage(obj)
        group, _, name = version.rpartition("/")
        other = registry.conversion(group, name, served.plural)
        return stored if other is None else other[2](stored)

    return convert
