"""The status of ValidatingAdmissionPolicies: checks the types of their expressions, and says what it has found.

Policies are checked in a thread, since one may have many expressions and be about many kinds.
"""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any, Final

from jobrelay.apimachinery.apply import apply_object
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import heavy, ownership, represent, storage
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.registrations.policies import POLICIES
from jobrelay.cluster.store import Change
from jobrelay.kinds.strategy import Obj

if TYPE_CHECKING:
    from jobrelay.apimachinery.cel.types import CelType
    from jobrelay.apimachinery.schema import GroupVersionKind

MANAGER: Final = "validatingadmissionpolicy-status"
_TYPE: Final = {"kind": "ValidatingAdmissionPolicy", "apiVersion": "admissionregistration.k8s.io/v1"}


class PolicyStatusController:
    """Keeps the status of policies up to date."""

    def __init__(self, services: ServerContext) -> None:
        self._services = services
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        self._services.store.subscribe(POLICIES, self._changed)
        for item in self._services.store.snapshot(POLICIES).walk(""):
            self._schedule(item.name)

    def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    def _changed(self, change: Change) -> None:
        if change.after is not None:
            self._schedule(change.after.name)

    def _schedule(self, name: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = asyncio.get_running_loop().create_task(self._settle(name))

    async def _settle(self, name: str) -> None:
        """Checks a policy until its status is about its newest generation."""
        try:
            while (policy := self._unchecked(name)) is not None:
                warnings = await heavy.beside(functools.partial(self._check, policy))
                self._record(policy, warnings)
        finally:
            del self._tasks[name]

    def _unchecked(self, name: str) -> Obj | None:
        item = self._services.store.get(POLICIES, "", name)
        policy = represent.stored(item.raw) if item is not None else None
        if policy is None or _generation(policy) <= (policy.get("status") or {}).get("observedGeneration", 0):
            return None
        return policy

    def _check(self, policy: Obj) -> list[dict[str, Any]]:
        from jobrelay.kinds.admissionregistration.typechecking import expression_warnings

        return expression_warnings(policy["spec"], self._kind_of, self._type_of)

    def _kind_of(self, group: str, version: str, resource: str) -> str | None:
        served = self._services.resources.get(group, version, resource)
        return served.kind if served is not None else None

    def _type_of(self, kind: GroupVersionKind) -> CelType | None:
        version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        served = self._services.resources.by_kind(version, kind.kind)
        if served is None:
            return None
        from jobrelay.kinds.admissionregistration.schematypes import built_in_type, custom_type

        if served.custom is not None:
            return custom_type(served.custom, kind.kind)
        return built_in_type(version, kind.kind)

    def _record(self, policy: Obj, warnings: list[dict[str, Any]]) -> None:
        """Applies the status, unless the policy is gone or has changed."""
        name = policy["metadata"]["name"]
        item = self._services.store.get(POLICIES, "", name)
        if item is None or _generation(represent.stored(item.raw)) != _generation(policy):
            return
        checking = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": _generation(policy), "typeChecking": checking}
        served = self._services.resources.by_kind(_TYPE["apiVersion"], _TYPE["kind"])
        assert served is not None
        merged, managed = apply_object(
            {**_TYPE, **represent.stored(item.raw)},
            {**_TYPE, "metadata": {"name": name}, "status": status},
            manager=MANAGER,
            force=True,
            api_version=_TYPE["apiVersion"],
            now=format_time(self._services.now()),
            schema=served.apply_schema,
            subresource="status",
        )
        new = served.decode(merged, None)
        ownership.record(new, managed)
        storage.put(self._services.store, POLICIES, "", name, new)


def _generation(policy: Obj) -> int:
    generation: int = policy["metadata"].get("generation", 0)
    return generation
