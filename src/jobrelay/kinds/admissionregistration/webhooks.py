"""Webhook configurations. Rules that became stricter do not apply to objects that broke them before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, duplicate, invalid, not_supported, one_of, required
from jobrelay.apimachinery.meta import validate_label_selector, validate_object_meta
from jobrelay.apimachinery.names import is_dns1035_label, is_fully_qualified_name, name_is_dns_subdomain
from jobrelay.kinds.admissionregistration.rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    default_rule,
    validate_match_conditions,
    validate_rule,
)
from jobrelay.kinds.admissionregistration.urls import validate_webhook_service, validate_webhook_url
from jobrelay.kinds.generation import bump_generation, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

REVIEW_VERSIONS: Final = ("v1", "v1beta1")
SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_SELECTORS: Final = ("namespaceSelector", "objectSelector")
_SWITCHES: Final = (("failurePolicy", FAILURE_POLICIES), ("matchPolicy", MATCH_POLICIES))


@dataclass(frozen=True)
class WebhookRequirements:
    """The checks that were added to the API later: an update need not pass those that the stored object fails."""

    side_effects: tuple[str, ...] = NO_SIDE_EFFECTS
    known_version: bool = True
    unique_names: bool = True
    match_conditions: bool = True
    bad_selector_values: bool = False


def _hooks(obj: Obj) -> list[dict[str, Any]]:
    hooks: list[dict[str, Any]] = obj.get("webhooks") or []
    return hooks


def default(obj: Obj) -> None:
    for hook in _hooks(obj):
        for name, value in (("failurePolicy", "Fail"), ("matchPolicy", "Equivalent"), ("timeoutSeconds", 10)):
            if hook.get(name) is None:
                hook[name] = value
        for name in _SELECTORS:
            if hook.get(name) is None:
                hook[name] = {}
        for rule in hook.get("rules") or ():
            default_rule(rule)
        service = hook["clientConfig"].get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443


def default_mutating(obj: Obj) -> None:
    default(obj)
    for hook in _hooks(obj):
        if hook.get("reinvocationPolicy") is None:
            hook["reinvocationPolicy"] = "Never"


def prepare_update(new: Obj, old: Obj) -> None:
    bump_generation(new, old, changed=_hooks(new) != _hooks(old))


_ALL: Final = WebhookRequirements()


def validate(obj: Obj, rules: WebhookRequirements = _ALL) -> list[FieldError]:
    errors = validate_object_meta(
        obj["metadata"], namespaced=False, name_fn=name_is_dns_subdomain, known_finalizers=False
    )
    names: set[str] = set()
    for i, hook in enumerate(_hooks(obj)):
        path = Path("webhooks").index(i)
        errors += _validate_hook(hook, rules, path)
        errors += _validate_versions(hook.get("admissionReviewVersions") or [], rules, path)
        if rules.unique_names and hook["name"]:
            if hook["name"] in names:
                errors.append(duplicate(path.child("name"), hook["name"]))
            names.add(hook["name"])
    return errors


def _validate_hook(hook: dict[str, Any], rules: WebhookRequirements, path: Path) -> list[FieldError]:
    errors = is_fully_qualified_name(path.child("name"), hook["name"])
    for i, rule in enumerate(hook.get("rules") or ()):
        errors += validate_rule(rule, path.child("rules").index(i))
    for name, values in _SWITCHES:
        errors += one_of(path.child(name), hook[name], values)
    effects = hook.get("sideEffects")
    if effects is None:
        text = "must specify one of " + ", ".join(rules.side_effects)
        errors.append(required(path.child("sideEffects"), text))
    elif effects not in rules.side_effects:
        errors.append(not_supported(path.child("sideEffects"), effects, rules.side_effects))
    if not 1 <= hook["timeoutSeconds"] <= 30:
        text = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid(path.child("timeoutSeconds"), hook["timeoutSeconds"], text))
    for name in _SELECTORS:
        errors += validate_label_selector(hook[name], path.child(name), allow_invalid_values=rules.bad_selector_values)
    policy = hook.get("reinvocationPolicy", "Never")
    errors += one_of(path.child("reinvocationPolicy"), policy, REINVOCATION_POLICIES)
    errors += _validate_client(hook["clientConfig"], path.child("clientConfig"))
    if rules.match_conditions:
        errors += validate_match_conditions(hook.get("matchConditions") or [], path.child("matchConditions"))
    return errors


def _validate_client(client: dict[str, Any], path: Path) -> list[FieldError]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if service is not None:
        return validate_webhook_service(service, path.child("service"))
    return validate_webhook_url(str(url), path.child("url"))


def _validate_versions(versions: list[str], rules: WebhookRequirements, path: Path) -> list[FieldError]:
    path = path.child("admissionReviewVersions")
    known = ", ".join(REVIEW_VERSIONS)
    if not versions:
        return [required(path, f"must specify one of {known}")]
    errors: list[FieldError] = []
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(invalid(path.index(i), version, "duplicate version"))
        else:
            errors += [invalid(path.index(i), version, text) for text in is_dns1035_label(version)]
    if rules.known_version and not set(versions) & set(REVIEW_VERSIONS):
        errors.append(invalid(path, versions, f"must include at least one of {known}"))
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    hooks = _hooks(old)
    versions = [set(hook.get("admissionReviewVersions") or ()) for hook in hooks]
    names = [hook["name"] for hook in hooks]
    before = [hook.get("matchConditions") for hook in hooks]
    clean = all(hook.get("sideEffects") in NO_SIDE_EFFECTS for hook in hooks)
    rules = WebhookRequirements(
        side_effects=NO_SIDE_EFFECTS if clean else SIDE_EFFECTS,
        known_version=all(not found or found & set(REVIEW_VERSIONS) for found in versions),
        unique_names=len(set(names)) == len(names),
        match_conditions=[hook.get("matchConditions") for hook in _hooks(new)] != before,
        bad_selector_values=any(
            validate_label_selector(hook.get(name), Path()) for hook in hooks for name in _SELECTORS
        ),
    )
    return validate(new, rules)


def _strategy(mutating: bool) -> Strategy:
    return Strategy(
        default=default_mutating if mutating else default,
        prepare_create=start_generation,
        validate_create=validate,
        update=UpdateStrategy(prepare_update, validate_update),
        unconditional_update=False,
    )


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _strategy(False),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _strategy(True),
}
