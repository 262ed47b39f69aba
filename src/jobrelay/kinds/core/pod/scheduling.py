"""Checks on what steers scheduling and the network: tolerations, spreading, gates, DNS, host names, resource claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from jobrelay.apimachinery.field import Path, duplicate, forbidden, invalid, not_supported, required, too_long
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.ips import is_valid_ip_for_legacy_field
from jobrelay.apimachinery.meta import validate_label_name, validate_label_selector
from jobrelay.apimachinery.names import (
    is_dns1123_subdomain_with_underscore,
    is_valid_label_value,
    name_is_dns_subdomain,
    size,
)
from jobrelay.kinds.core.checks import dns_label, dns_subdomain, qualified_name
from jobrelay.kinds.core.pod.affinity import validate_label_keys
from jobrelay.kinds.core.pod.common import CORE, MIRROR_ANNOTATION, WHOLE, Errors, Fields, invalid_each

TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MAX_NAMESERVERS: Final = 3
_MAX_SEARCHES: Final = 32
_MAX_SEARCH_LENGTH: Final = 2048


def validate_tolerations(tolerations: Iterable[Fields], path: Path) -> Errors:
    errors: Errors = []
    for i, toleration in enumerate(tolerations):
        errors += _validate_toleration(toleration, path.index(i))
    return errors


def _validate_toleration(toleration: Fields, path: Path) -> Errors:
    key, operator, value, effect = (toleration.get(name, "") for name in ("key", "operator", "value", "effect"))
    errors = validate_label_name(key, path.child("key")) if key else []
    at = path.child("operator")
    if not key and operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(at, operator, text))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(path.child("effect"), effect, text))
    if operator in ("", "Equal"):
        if texts := is_valid_label_value(value):
            errors.append(invalid(at, value, ";".join(texts)))
    elif operator == "Exists":
        if value:
            errors.append(invalid(at, value, "value must be empty when `operator` is 'Exists'"))
    elif operator in ("Lt", "Gt"):
        errors.append(not_supported(at, operator, ("Equal", "Exists", "Lt", "Gt")))
    else:
        errors.append(not_supported(at, operator, ("Equal", "Exists")))
    if effect and effect not in TAINT_EFFECTS:
        errors.append(not_supported(path.child("effect"), effect, TAINT_EFFECTS))
    return errors


def validate_topology_spread(constraints: Sequence[Fields], path: Path) -> Errors:
    errors: Errors = []
    last = {(c.get("topologyKey"), c.get("whenUnsatisfiable")): i for i, c in enumerate(constraints)}
    for i, constraint in enumerate(constraints):
        at = path.index(i)
        skew, key, action = (constraint.get(name) for name in ("maxSkew", "topologyKey", "whenUnsatisfiable"))
        if (skew or 0) <= 0:
            errors.append(invalid(at.child("maxSkew"), skew or 0, "must be greater than zero"))
        if not key:
            errors.append(required(at.child("topologyKey"), "can not be empty"))
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            errors.append(
                not_supported(at.child("whenUnsatisfiable"), action or "", ("DoNotSchedule", "ScheduleAnyway"))
            )
        if last[key, action] != i:
            errors.append(duplicate(at.child("{topologyKey, whenUnsatisfiable}"), f"{{{key or ''}, {action or ''}}}"))
        errors += _validate_min_domains(constraint, at.child("minDomains"))
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(name)
            if policy is not None and policy not in ("Honor", "Ignore"):
                errors.append(not_supported(at.child(name), policy, ("Honor", "Ignore")))
        selector = constraint.get("labelSelector")
        errors += validate_label_keys(constraint.get("matchLabelKeys") or [], [], selector, at)
        errors += validate_label_selector(selector, at.child("labelSelector"))
    return errors


def _validate_min_domains(constraint: Fields, path: Path) -> Errors:
    domains, action = constraint.get("minDomains"), constraint.get("whenUnsatisfiable", "")
    if domains is None:
        return []
    errors = [invalid(path, domains, "must be greater than zero")] if domains <= 0 else []
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(path, domains, text))
    return errors


def validate_readiness_gates(gates: Iterable[Fields], path: Path) -> Errors:
    errors: Errors = []
    for i, gate in enumerate(gates):
        errors += qualified_name(gate.get("conditionType", ""), path.index(i).child("conditionType"))
    return errors


def validate_scheduling_gates(gates: Iterable[Fields], path: Path) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for i, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += qualified_name(name, path.index(i))
        if name in seen:
            errors.append(duplicate(path.index(i), name))
        seen.add(name)
    return errors


def validate_dns_config(spec: Fields, path: Path) -> Errors:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(path.child("nameservers"), text)]
    if config is None:
        return []
    errors: Errors = []
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MAX_NAMESERVERS:
        detail = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        errors.append(invalid(path.child("nameservers"), servers, detail))
    for i, server in enumerate(servers):
        errors += is_valid_ip_for_legacy_field(path.child("nameservers").index(i), server)
    at = path.child("searches")
    if len(searches) > _MAX_SEARCHES:
        errors.append(invalid(at, searches, f"must not have more than {_MAX_SEARCHES} search paths"))
    if size(" ".join(searches)) > _MAX_SEARCH_LENGTH:
        text = f"must not have more than {_MAX_SEARCH_LENGTH} characters (including spaces) in the search list"
        errors.append(invalid(at, searches, text))
    for i, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            errors += invalid_each(at.index(i), name, is_dns1123_subdomain_with_underscore(name))
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(path.child("options").index(i), "must not be empty"))
    return errors


def validate_host_aliases(aliases: Iterable[Fields], path: Path) -> Errors:
    errors: Errors = []
    for i, alias in enumerate(aliases):
        errors += is_valid_ip_for_legacy_field(path.index(i).child("ip"), alias.get("ip", ""))
        for j, name in enumerate(alias.get("hostnames") or ()):
            errors += dns_subdomain(name, path.index(i).child("hostnames").index(j))
    return errors


def validate_hostname_override(spec: Fields, path: Path) -> Errors:
    name = spec.get("hostnameOverride")
    if name is None:
        return []
    at = path.child("hostnameOverride")
    errors: Errors = []
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if size(name) > 64:
        errors.append(too_long(at, 64))
    return errors + dns_subdomain(name, at)


def validate_resource_claims(claims: Sequence[Fields], metadata: Fields | None, path: Path) -> Errors:
    """The claims of a pod; `metadata` is None for templates."""
    errors: Errors = []
    names: set[str] = set()
    for i, claim in enumerate(claims):
        if metadata is not None and MIRROR_ANNOTATION in (metadata.get("annotations") or {}):
            errors.append(forbidden(WHOLE, "static pods do not support resource claims"))
            continue
        errors += _validate_resource_claim(claim, names, path.index(i))
    return errors


def _validate_resource_claim(claim: Fields, names: set[str], path: Path) -> Errors:
    errors: Errors = []
    name = claim.get("name", "")
    if not name:
        errors.append(required(path.child("name")))
    elif name in names:
        errors.append(duplicate(path.child("name"), name))
    else:
        errors += dns_label(name, path.child("name"))
        names.add(name)
    given = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None]
    shown = struct_value(claim, CORE + "PodResourceClaim")
    if len(given) == 2:
        text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        errors.append(invalid(path, shown, text))
    if not given:
        errors.append(invalid(path, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
    for field in given:
        errors += invalid_each(path.child(field), claim[field], name_is_dns_subdomain(claim[field], False))
    return errors
