"""The Job's policies about its pods: which failures count, when it has succeeded, when a pod is replaced."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any, Final

from jobrelay.apimachinery.field import (
    NO_VALUE,
    FieldError,
    Path,
    duplicate,
    go_quote,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from jobrelay.apimachinery.meta import validate_non_negative
from jobrelay.apimachinery.names import is_qualified_name
from jobrelay.kinds.batch.job.indexes import IndexesError, count_indexes, parse_indexes

ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
OPERATORS: Final = ("In", "NotIn")
STATUSES: Final = ("False", "True", "Unknown")
REPLACEMENTS: Final = ("Failed", "TerminatingOrFailed")
MAX_RULES: Final = 20
MAX_CONDITIONS: Final = 20
MAX_EXIT_CODES: Final = 255
MAX_INDEXES_LENGTH: Final = 64 * 1024
Spec = dict[str, Any]


def settle_policies(spec: Spec) -> None:
    """Lists that were given empty show as null once the Job is stored."""
    failure, success = spec.get("podFailurePolicy"), spec.get("successPolicy")
    for policy in (failure, success):
        if policy is not None and not policy["rules"]:
            policy["rules"] = None
    for rule in (failure or {}).get("rules") or ():
        codes = rule.get("onExitCodes")
        if codes is not None and not codes["values"]:
            codes["values"] = None


def same_policy(new: dict[str, Any] | None, old: dict[str, Any] | None) -> bool:
    """Whether two policies are equal, where no rules are no rules."""
    return new == old or (new is not None and old is not None and not new["rules"] and not old["rules"])


def spec_changed(spec: Spec, old_spec: Spec) -> bool:
    if spec == old_spec:
        return False
    if "podFailurePolicy" in spec or "successPolicy" in spec:
        spec = copy.deepcopy(spec)
        settle_policies(spec)
    return spec != old_spec


def validate_replacement_policy(spec: Spec, path: Path) -> list[FieldError]:
    policy = spec.get("podReplacementPolicy")
    supported = ("Failed",) if "podFailurePolicy" in spec else REPLACEMENTS
    if policy is None or policy in supported:
        return []
    return [not_supported(path.child("podReplacementPolicy"), policy, supported)]


def validate_failure_policy(spec: Spec, path: Path) -> list[FieldError]:
    rules, path = spec["podFailurePolicy"]["rules"] or [], path.child("rules")
    errors = [too_many(path, len(rules), MAX_RULES)] if len(rules) > MAX_RULES else []
    pod = spec["template"]["spec"]
    containers = {c["name"] for c in (pod.get("containers") or []) + (pod.get("initContainers") or [])}
    for i, rule in enumerate(rules):
        errors += _failure_rule(spec, rule, path.index(i), containers)
    return errors


def _one_of(value: str, supported: tuple[str, ...], path: Path) -> list[FieldError]:
    if not value:
        return [required(path, f"valid values: [{' '.join(map(go_quote, supported))}]")]
    return [] if value in supported else [not_supported(path, value, supported)]


def _failure_rule(spec: Spec, rule: dict[str, Any], path: Path, containers: set[str]) -> list[FieldError]:
    errors = _one_of(rule["action"], ACTIONS, path.child("action"))
    if rule["action"] == "FailIndex" and "backoffLimitPerIndex" not in spec:
        errors.append(invalid(path.child("action"), "FailIndex", "requires the backoffLimitPerIndex to be set"))
    exit_codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if exit_codes is not None:
        errors += _exit_codes(exit_codes, path.child("onExitCodes"), containers)
    if conditions:
        errors += _pod_conditions(conditions, path.child("onPodConditions"))
    if exit_codes is not None and conditions:
        errors.append(invalid(path, NO_VALUE, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if exit_codes is None and not conditions:
        errors.append(invalid(path, NO_VALUE, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _pod_conditions(patterns: list[dict[str, Any]], path: Path) -> list[FieldError]:
    errors = [too_many(path, len(patterns), MAX_CONDITIONS)] if len(patterns) > MAX_CONDITIONS else []
    for i, pattern in enumerate(patterns):
        place = path.index(i)
        errors += [invalid(place.child("type"), pattern["type"], text) for text in is_qualified_name(pattern["type"])]
        errors += _one_of(pattern["status"], STATUSES, place.child("status"))
    return errors


def _exit_codes(requirement: dict[str, Any], path: Path, containers: set[str]) -> list[FieldError]:
    operator, name = requirement["operator"], requirement.get("containerName")
    errors = _one_of(operator, OPERATORS, path.child("operator"))
    if name is not None and name not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(path.child("containerName"), name, text))
    values, path = requirement["values"] or [], path.child("values")
    if not values:
        errors.append(invalid(path, requirement["values"], "at least one value is required"))
    elif len(values) > MAX_EXIT_CODES:
        errors.append(too_many(path, len(values), MAX_EXIT_CODES))
    seen: set[int] = set()
    for i, code in enumerate(values):
        if operator == "In" and code == 0:
            errors.append(invalid(path.index(i), code, "must not be 0 for the In operator"))
        if code in seen:
            errors.append(duplicate(path.index(i), code))
        seen.add(code)
    if any(earlier > later for earlier, later in pairwise(values)):
        errors.append(invalid(path, values, "must be ordered"))
    return errors


def validate_success_policy(spec: Spec, path: Path) -> list[FieldError]:
    rules, path = spec["successPolicy"]["rules"] or [], path.child("rules")
    errors: list[FieldError] = []
    if not rules:
        errors.append(required(path, "at least one rules must be specified when the successPolicy is specified"))
    if len(rules) > MAX_RULES:
        errors.append(too_many(path, len(rules), MAX_RULES))
    completions = spec.get("completions")
    if completions is None:  # reported as missing elsewhere
        return errors
    for i, rule in enumerate(rules):
        errors += _success_rule(rule, path.index(i), completions)
    return errors


def _success_rule(rule: dict[str, Any], path: Path, completions: int) -> list[FieldError]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        return [required(path, "at least one of succeededCount or succeededIndexes must be specified")]
    errors: list[FieldError] = []
    total = 0
    if indexes is not None:
        place = path.child("succeededIndexes")
        if len(indexes.encode()) > MAX_INDEXES_LENGTH:
            errors.append(too_long(place, MAX_INDEXES_LENGTH))
        try:
            total = count_indexes(parse_indexes(indexes, completions))
        except IndexesError as error:
            errors.append(invalid(place, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        place, at_most = path.child("succeededCount"), "must be less than or equal to"
        errors += validate_non_negative(count, place)
        if count > completions:
            errors.append(invalid(place, count, f"{at_most} {completions} (the number of specified completions)"))
        if indexes is not None and count > total:
            text = f"{at_most} {total} (the number of indexes in the specified succeededIndexes field)"
            errors.append(invalid(place, count, text))
    return errors
