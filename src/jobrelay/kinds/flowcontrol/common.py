"""What both kinds of flowcontrol.apiserver.k8s.io share: preparation, conditions, their strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jobrelay.apimachinery.field import FieldError, Path, duplicate, required
from jobrelay.kinds.generation import keep_spec, prepare_spec_update, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

GROUP: Final = "flowcontrol.apiserver.k8s.io"
SPEC: Final = Path("spec")


def prepare_create(obj: Obj) -> None:
    obj["status"] = {}
    start_generation(obj)


def prepare_status(new: Obj, old: Obj) -> None:
    kept = {name: new["metadata"][name] for name in ("managedFields", "resourceVersion") if name in new["metadata"]}
    new["metadata"] = {**old["metadata"], **kept}
    keep_spec(new, old)


def validate_conditions(obj: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        path, kind = Path("status.conditions").index(i).child("type"), condition.get("type", "")
        errors += [duplicate(path, kind)] if kind in seen else []
        seen.add(kind)
        errors += [] if kind else [required(path)]
    return errors


def strategy(default: Callable[[Obj], None], validate: Callable[[Obj], list[FieldError]]) -> Strategy:
    return Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate,
        update=UpdateStrategy(prepare_spec_update, lambda new, old: validate(new)),
        subresources={"status": UpdateStrategy(prepare_status, lambda new, old: validate_conditions(new))},
        reset_fields={"": (("status",),), "status": (("metadata",), ("spec",))},
    )
