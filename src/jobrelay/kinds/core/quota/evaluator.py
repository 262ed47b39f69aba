"""How quotas see the objects of one resource: which of their names are about it, what an object uses, which scopes fit.

Most resources are only counted (`count/jobs.batch`); some have an older name too (`secrets`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, Final

from jobrelay.apimachinery.selectors import Requirement
from jobrelay.kinds.core.quota.amounts import ONE, Amounts, as_texts

Fields = Mapping[str, Any]
ALIASED: Final = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets"})
_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class Evaluator:
    """Counts the objects of a resource."""

    counts_only = True

    def __init__(self, key: str) -> None:
        self.key = key
        self._names = frozenset({f"count/{key}", *({key} & ALIASED)})
        self._usage = dict.fromkeys(self._names, ONE)

    def handles(self, operation: str, subresource: str, new: Fields, old: Fields) -> bool:
        """Whether a write can change what is used."""
        return operation == "CREATE" and not subresource

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        """Those of the names of a quota that are about this resource."""
        return self._names & frozenset(names)

    def in_scope(self, requirement: Fields, obj: Fields) -> bool:
        """Whether an object is in a scope. Only pods and claims have scopes."""
        return False

    def missing(self, names: Iterable[str], obj: Fields) -> str:
        """What an object must specify and does not."""
        return ""

    def usage(self, obj: Fields, now: dt.datetime) -> Amounts:
        return self._usage

    def scope_facts(self, obj: Fields) -> object:
        """What scopes depend on and updates may change."""
        return None

    def changed(self, old: Fields, new: Fields, now: dt.datetime) -> bool:
        """Whether an update changes what is used, or of which quotas."""
        if self.scope_facts(old) != self.scope_facts(new):
            return True
        return as_texts(self.usage(old, now)) != as_texts(self.usage(new, now))


def value_fits(requirement: Fields, value: str) -> bool:
    """Whether the name of a class ("": none) fits a scope selector."""
    scope = requirement["scopeName"]
    wanted = Requirement(scope, _OPERATORS[requirement["operator"]], requirement.get("values") or ())
    return wanted.matches({scope: value} if value else {})
