"""RuntimeClasses: the container runtimes that nodes offer."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import meta
from jobrelay.apimachinery.field import FieldError, Path, duplicate, invalid
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.names import is_dns1123_label, name_is_dns_subdomain
from jobrelay.kinds.core.nodeselectors import DEPRECATED_LABELS
from jobrelay.kinds.core.pod.resources import validate_container_resources
from jobrelay.kinds.core.pod.scheduling import validate_tolerations
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_SELECTOR: Final = Path("scheduling.nodeSelector")
_TOLERATIONS: Final = Path("scheduling.tolerations")


def validate(obj: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta(
        obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain, known_finalizers=False
    )
    errors += [invalid(Path("handler"), obj["handler"], text) for text in is_dns1123_label(obj["handler"])]
    if (overhead := obj.get("overhead")) is not None:
        limits = {"limits": overhead.get("podFixed") or {}}
        errors += validate_container_resources(limits, set(), Path("overhead"))
    if (scheduling := obj.get("scheduling")) is not None:
        errors += meta.validate_labels(scheduling.get("nodeSelector"), _SELECTOR)
        errors += _validate_tolerations(scheduling.get("tolerations") or [])
    return errors


def _validate_tolerations(tolerations: list[dict[str, Any]]) -> list[FieldError]:
    errors = list(validate_tolerations(tolerations, _TOLERATIONS))
    seen: set[tuple[str, ...]] = set()
    for i, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name, "") for name in ("key", "operator", "value", "effect"))
        if key in seen:
            shown = struct_value(toleration, "io.k8s.api.core.v1.Toleration")
            errors.append(duplicate(_TOLERATIONS.index(i), shown))
        seen.add(key)
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate(new) + meta.validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
    return errors + meta.validate_immutable_field(new["handler"], old["handler"], Path("handler"))


def warnings(obj: Obj) -> list[str]:
    selector = (obj.get("scheduling") or {}).get("nodeSelector") or {}
    return [f"{_SELECTOR}: {DEPRECATED_LABELS[key]}" for key in selector if key in DEPRECATED_LABELS]


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("node.k8s.io", "runtimeclasses"): Strategy(
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(validate=validate_update, warn=lambda new, old: warnings(new)),
        unconditional_update=False,
        create_on_update=True,
    )
}
