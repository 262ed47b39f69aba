"""Field management of writes that are not applies: every one of them makes its manager own what it changed."""

from __future__ import annotations

from typing import Any

from jobrelay.cluster.apiserver.resources import Served
from jobrelay.kinds.apply import update_managed_fields
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
    )
    if managed:
        new["metadata"]["managedFields"] = managed
    else:
        new["metadata"].pop("managedFields", None)
