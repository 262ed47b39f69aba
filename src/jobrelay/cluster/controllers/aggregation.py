"""Aggregated ClusterRoles: their rules are the union of the rules of the roles that their selectors match."""

from __future__ import annotations

import asyncio
from typing import Final

from jobrelay.apimachinery.apply import apply_object, built_in_schema
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import ownership, represent, storage
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.store import Change
from jobrelay.kinds.rbac.rules import aggregate_rules

KEY: Final = "clusterroles.rbac.authorization.k8s.io"
MANAGER: Final = "clusterrole-aggregation-controller"
API_VERSION: Final = "rbac.authorization.k8s.io/v1"


class ClusterRoleAggregationController:
    """Keeps the rules of aggregated roles up to date."""

    def __init__(self, services: ServerContext) -> None:
        self._services = services
        self._scheduled = False

    def start(self) -> None:
        self._services.store.subscribe(KEY, self._changed)
        self._sync()

    def stop(self) -> None:
        """There is nothing to end: what is scheduled is done within a tick."""

    def _changed(self, change: Change) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._sync)

    def _sync(self) -> None:
        self._scheduled = False
        roles = [represent.stored(item.raw) for item in self._services.store.snapshot(KEY).walk("")]
        for role in roles:
            if not role.get("aggregationRule") or role["metadata"].get("deletionTimestamp"):
                continue
            rules = aggregate_rules(role, roles)
            if rules != (role.get("rules") or []):
                role["rules"] = rules
                self._write(role)

    def _write(self, role: dict[str, object]) -> None:
        schema = built_in_schema(API_VERSION, "ClusterRole")
        item = self._services.store.get(KEY, "", role["metadata"]["name"])  # type: ignore[index]
        assert schema is not None
        assert item is not None
        live = {"kind": "ClusterRole", "apiVersion": API_VERSION, **represent.stored(item.raw)}
        wanted = {
            "kind": "ClusterRole", "apiVersion": API_VERSION, "metadata": {"name": item.name}, "rules": role["rules"],
        }  # fmt: skip
        now = format_time(self._services.now())
        merged, managed = apply_object(
            live, wanted, manager=MANAGER, force=True, api_version=API_VERSION, now=now, schema=schema
        )
        ownership.record(merged, managed)
        storage.put(self._services.store, KEY, "", item.name, merged)
