"""PriorityLevelConfigurations: how many requests of a level are served at once. Checked, not enforced."""

from __future__ import annotations

import math
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import validate_object_meta
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.flowcontrol.common import GROUP, SPEC, strategy, validate_conditions
from jobrelay.kinds.strategy import Obj, Strategy

MAX_QUEUES: Final = 10**7
MAX_HASH_BITS: Final = 60
ZERO_SHARES: Final = "flowcontrol.k8s.io/preserve-zero-concurrency-shares"
_CATCH_ALL_LEVEL: Final[dict[str, Any]] = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
}


def default_level(obj: Obj) -> None:
    spec = obj["spec"]
    exempt, limited = spec.get("exempt"), spec.get("limited")
    for level, shares in ((exempt, 0), (limited, 30)):
        for name, value in (("nominalConcurrencyShares", shares), ("lendablePercent", 0)):
            if level is not None and level.get(name) is None:
                level[name] = value
    queuing = limited["limitResponse"].get("queuing") if limited is not None else None
    if queuing is not None:
        for name, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
            queuing[name] = queuing.get(name) or value


def validate_level(obj: Obj) -> list[FieldError]:
    metadata, spec = obj["metadata"], obj["spec"]
    errors = validate_object_meta(metadata, namespaced=False, name_fn=name_is_dns_subdomain)
    if ZERO_SHARES in (metadata.get("annotations") or {}):
        errors.append(forbidden(Path("metadata.annotations"), f"annotation '{ZERO_SHARES}' is forbidden"))
    name = metadata.get("name", "")
    if (name == "exempt") != (spec["type"] == "Exempt"):
        text = "must be 'Exempt' if and only if `name` is 'exempt'"
        errors.append(invalid(SPEC.child("type"), spec["type"], text))
    errors += _validate_level_spec(spec)
    shown = struct_value(spec, "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec")
    if name == "exempt" and {key: spec[key] for key in spec if key != "exempt"} != {"type": "Exempt"}:
        text = f"spec of '{name}' except the 'spec.exempt' field must equal the fixed value"
        errors.append(invalid(SPEC, shown, text))
    if name == "catch-all" and spec != _CATCH_ALL_LEVEL:
        errors.append(invalid(SPEC, shown, f"spec of '{name}' must equal the fixed value"))
    return errors + validate_conditions(obj)


def _validate_level_spec(spec: dict[str, Any]) -> list[FieldError]:
    kind, limited, exempt = spec["type"], spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        path = SPEC.child("limited")
        errors = [forbidden(path, "must be nil if the type is not Limited")] if limited is not None else []
        return errors + (_validate_shares(exempt, SPEC.child("exempt")) if exempt is not None else [])
    if kind != "Limited":
        return [not_supported(SPEC.child("type"), kind, ("Exempt", "Limited"))]
    path = SPEC.child("exempt")
    errors = [forbidden(path, "must be nil if the type is Limited")] if exempt is not None else []
    if limited is None:
        return [*errors, required(SPEC.child("limited"), "must not be empty when type is Limited")]
    return errors + _validate_limited(limited, SPEC.child("limited"))


def _validate_shares(level: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if level["nominalConcurrencyShares"] < 0:
        shares = path.child("nominalConcurrencyShares")
        errors.append(invalid(shares, level["nominalConcurrencyShares"], "must be a non-negative integer"))
    return errors + _validate_lendable(level, path)


def _validate_lendable(level: dict[str, Any], path: Path) -> list[FieldError]:
    percent = level["lendablePercent"]
    if 0 <= percent <= 100:
        return []
    return [invalid(path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive")]


def _validate_limited(limited: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    shares = limited["nominalConcurrencyShares"]
    if shares < 0:
        errors.append(invalid(path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer"))
    errors += _validate_response(limited["limitResponse"], path.child("limitResponse"))
    errors += _validate_lendable(limited, path)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        text = "if specified, must be a non-negative integer"
        errors.append(invalid(path.child("borrowingLimitPercent"), borrowing, text))
    return errors


def _validate_response(response: dict[str, Any], path: Path) -> list[FieldError]:
    kind, queuing, place = response["type"], response.get("queuing"), path.child("queuing")
    if kind == "Reject":
        text = "must be nil if limited.limitResponse.type is not Limited"
        return [forbidden(place, text)] if queuing is not None else []
    if kind != "Queue":
        return [not_supported(path.child("type"), kind, ("Queue", "Reject"))]
    if queuing is None:
        return [required(place, "must not be empty if limited.limitResponse.type is Limited")]
    return _validate_queuing(queuing, place)


def _validate_queuing(queuing: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    queues, hand, length = queuing["queues"], queuing["handSize"], queuing["queueLengthLimit"]
    if length <= 0:
        errors.append(invalid(path.child("queueLengthLimit"), length, "must be positive"))
    if queues <= 0:
        errors.append(invalid(path.child("queues"), queues, "must be positive"))
    elif queues > MAX_QUEUES:
        errors.append(invalid(path.child("queues"), queues, f"must not be greater than {MAX_QUEUES}"))
    if hand <= 0:
        errors.append(invalid(path.child("handSize"), hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid(path.child("handSize"), hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > MAX_HASH_BITS:
        text = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MAX_HASH_BITS}"
        )
        errors.append(invalid(path.child("handSize"), hand, text))
    return errors


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    (GROUP, "prioritylevelconfigurations"): strategy(default_level, validate_level)
}
