"""The status of a CustomResourceDefinition: accepted names, conditions, stored versions."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterable
from typing import Any, Final

from jobrelay.kinds.apiextensions.approval import CONDITION, approval_condition
from jobrelay.kinds.apiextensions.webhooks import ca_bundle_problem
from jobrelay.kinds.strategy import Obj

CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_ACCEPTED: Final = "the initial names have been accepted"


def accepted_status(crd: Obj, others: Iterable[Obj], now: str) -> Obj:
    """The status that the naming and establishing controllers would arrive at. `now` is a time as the API writes it."""
    status: Obj = copy.deepcopy(crd.get("status") or {})
    names, wrong = _decide(crd, list(others))
    status["acceptedNames"] = names
    conditions: list[Obj] = status.get("conditions") or []
    if approval := approval_condition(crd):
        _set(conditions, CONDITION, *approval, now)
    if wrong:
        _set(conditions, "NamesAccepted", "False", wrong[0], wrong[1], now)
    else:
        _set(conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    established = find_condition(conditions, "Established")
    if established is None or established["status"] != "True":
        _establish(conditions, crd, now, accepted=not wrong)
    status["conditions"] = conditions
    status["storedVersions"] = status.get("storedVersions") or storage_versions(crd)
    return status


def storage_versions(crd: Obj) -> list[str]:
    return [version["name"] for version in crd["spec"].get("versions") or () if version.get("storage")][:1]


def is_established(crd: Obj) -> bool:
    found = find_condition((crd.get("status") or {}).get("conditions") or [], "Established")
    return found is not None and bool(found["status"] == "True")


def terminating_status(crd: Obj, reason: str, message: str, now: str, *, active: bool = True) -> Obj:
    """The status while objects are being deleted."""
    status: Obj = copy.deepcopy(crd.get("status") or {})
    conditions: list[Obj] = status.get("conditions") or []
    _set(conditions, "Terminating", "True" if active else "False", reason, message, now)
    status["conditions"] = conditions
    return status


def find_condition(conditions: list[Obj], type_: str) -> Obj | None:
    return next((condition for condition in conditions if condition["type"] == type_), None)


def _establish(conditions: list[Obj], crd: Obj, now: str, *, accepted: bool) -> None:
    config = ((crd["spec"].get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    bundle: Any = config.get("caBundle")
    if not accepted:
        _set(conditions, "Established", "False", "NotAccepted", "not all names are accepted", now)
    elif bundle and ca_bundle_problem(base64.b64decode(bundle)):
        _set(conditions, "Established", "False", "InvalidCABundle", "The conversion webhook CABundle is invalid", now)
    else:
        _set(conditions, "Established", "True", "InitialNamesAccepted", _ACCEPTED, now)


def _set(conditions: list[Obj], type_: str, status: str, reason: str, message: str, now: str) -> None:
    found = find_condition(conditions, type_)
    if found is None:
        conditions.append(
            {"type": type_, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
        )
        return
    if found["status"] != status:
        found["lastTransitionTime"] = now
    found.update(status=status, reason=reason, message=message)


def _decide(crd: Obj, others: list[Obj]) -> tuple[Obj, tuple[str, str] | None]:
    """The names that can be accepted, and the last conflict as (reason, message)."""
    wanted, group = crd["spec"]["names"], crd["spec"]["group"]
    accepted: Obj = dict((crd.get("status") or {}).get("acceptedNames") or {})
    resources, kinds = _taken(others, group)
    conflict: tuple[str, str] | None = None
    for name, reason, taken in (
        ("plural", "PluralConflict", resources), ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds), ("listKind", "ListKindConflict", kinds),
    ):  # fmt: skip
        used = _in_use(name, wanted, accepted, taken)
        if used:
            conflict = (reason, used[0] if len(used) == 1 else f"[{', '.join(used)}]")
        elif wanted.get(name):
            accepted[name] = wanted[name]
        else:
            accepted.pop(name, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    else:
        accepted.pop("categories", None)
    accepted.setdefault("plural", "")
    accepted.setdefault("kind", "")
    return accepted, conflict


def _in_use(name: str, wanted: Obj, accepted: Obj, taken: set[str]) -> list[str]:
    if name == "shortNames":
        mine = set(accepted.get(name) or ())
        fresh = [short for short in wanted.get(name) or () if short not in mine]
        return list(dict.fromkeys(f'"{short}" is already in use' for short in fresh if short in taken))
    value = wanted.get(name, "")
    return [f'"{value}" is already in use'] if value != accepted.get(name, "") and value in taken else []


def _taken(others: list[Obj], group: str) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names = (other.get("status") or {}).get("acceptedNames") or {}
        if other["spec"]["group"] == group:
            resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
            kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources, kinds
