"""Aggregated cluster roles: roles whose rules are those of the roles that their selectors choose."""

from __future__ import annotations

import asyncio
from typing import Final

from jobrelay.apimachinery.apply import apply_object, built_in_schema
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.apiserver.writer import stored_json
from jobrelay.cluster.store import Change
from jobrelay.kinds.rbac.rules import aggregate_rules

KEY: Final = "clusterroles.rbac.authorization.k8s.io"
MANAGER: Final = "clusterrole-aggregation-controller"
API_VERSION: Final = "rbac.authorization.k8s.io/v1"


class Aggregation:
    """Keeps the rules of aggregated roles in step with the roles they are made of."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._scheduled = False

    def start(self) -> None:
        self._services.store.subscribe(KEY, self._changed)
        self._settle()

    def _changed(self, change: Change) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._settle)

    def _settle(self) -> None:
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
        merged["metadata"] = {**merged["metadata"], "resourceVersion": str(self._services.store.next_version())}
        if managed:
            merged["metadata"]["managedFields"] = managed
        self._services.store.put(KEY, "", item.name, stored_json(merged))
