"""What checks of a worker find, and the worker as they see it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from jobrelay.kube import Client, Resource
from jobrelay.operate.permissions import Permission, describe_permissions, missing_permissions

__all__ = ["LIMITED", "MISSING", "OK", "CheckedWorker", "Finding", "each_verb"]

OK: Final = "ok"
LIMITED: Final = "limited"
MISSING: Final = "missing"


class Finding(msgspec.Struct, frozen=True):
    """The result of one check: `ok`, `limited` (works in part), or `missing` (the worker cannot be used)."""

    worker: str
    check: str
    result: str
    detail: str


@dataclass(frozen=True, slots=True)
class CheckedWorker:
    """A worker with the relay's own client for it."""

    name: str
    origin: str
    client: Client
    namespaces: tuple[str, ...]
    """Those that the worker serves; empty for all."""

    def found(self, check: str, result: str, detail: str) -> Finding:
        return Finding(self.name, check, result, detail)

    async def permitted(
        self, check: str, permissions: Iterable[Permission], detail: str, *, otherwise: str = MISSING, mend: str = ""
    ) -> Finding:
        """`detail` if the relay has all the permissions, else the result `otherwise`, what is lacking, and what mends
        it."""
        denied = describe_permissions(await missing_permissions(self.client, permissions))
        if not denied:
            return self.found(check, OK, detail)
        return self.found(check, otherwise, f"no permission to {denied}{f'; {mend}' if mend else ''}")


def each_verb(
    resource: Resource, verbs: str, namespaces: Iterable[str] = (), subresource: str = ""
) -> list[Permission]:
    """Permissions in each of the namespaces, or without any in all."""
    where = tuple(namespaces) or ("",)
    return [Permission(verb, resource, namespace, subresource) for namespace in where for verb in verbs.split()]
