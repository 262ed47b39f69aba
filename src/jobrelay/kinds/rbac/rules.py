"""Evaluation of RBAC rules: subjects of a binding, what a rule allows, whether one set of rules covers another.

Users may only grant rights that they have: `escalation_error` compares the rules of the user with those of the role
(one group, resource, verb and name at a time), and lists what is missing with the server's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.selectors import selector_from_object

Rule = Mapping[str, Any]
_ATTRIBUTES: Final = (
    ("APIGroups", "apiGroups"), ("Resources", "resources"), ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"), ("Verbs", "verbs"),
)  # fmt: skip


def binding_subject(
    subjects: Iterable[Mapping[str, Any]] | None, username: str, groups: Sequence[str], namespace: str = ""
) -> Mapping[str, Any] | None:
    """The first subject of a binding that is this user; `namespace` is the binding's own."""
    for subject in subjects or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "User" and name == username:
            return subject
        if kind == "Group" and name in groups:
            return subject
        home = subject.get("namespace") or namespace
        if kind == "ServiceAccount" and home and username == f"system:serviceaccount:{home}:{name}":
            return subject
    return None


def rule_allows(rule: Rule, verb: str, group: str, resource: str, subresource: str = "", name: str = "") -> bool:
    """Whether a rule allows a verb on a resource; `resource` is without its subresource."""
    combined = f"{resource}/{subresource}" if subresource else resource
    resources = rule.get("resources") or ()
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("verbs"), verb)
        and _has(rule.get("apiGroups"), group)
        and (_has(resources, combined) or (bool(subresource) and f"*/{subresource}" in resources))
        and (not names or name in names)
    )


def rule_allows_url(rule: Rule, verb: str, url: str) -> bool:
    return _has(rule.get("verbs"), verb) and any(_url_covers(own, url) for own in rule.get("nonResourceURLs") or ())


def _has(values: Sequence[str] | None, value: str) -> bool:
    return values is not None and ("*" in values or value in values)


def _url_covers(own: str, url: str) -> bool:
    return own == url or (own.endswith("*") and url.startswith(own.rstrip("*")))


def break_down(rule: Rule) -> Iterator[dict[str, Any]]:
    """A rule as rules of one group, one resource, one verb and at most one name each."""
    verbs = rule.get("verbs") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                simple = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames")
                yield from ([{**simple, "resourceNames": [name]} for name in names] if names else [simple])
    for url in rule.get("nonResourceURLs") or ():
        for verb in verbs:
            yield {"nonResourceURLs": [url], "verbs": [verb]}


def rules_cover(owner_rules: Sequence[Rule], wanted_rules: Iterable[Rule]) -> tuple[bool, list[dict[str, Any]]]:
    """Whether the owner holds everything that is wanted, and the broken-down rules that are missing."""
    missing = [
        piece
        for wanted in wanted_rules
        for piece in break_down(wanted)
        if not any(_covers(own, piece) for own in owner_rules)
    ]
    return not missing, missing


def _covers(owner: Rule, piece: Rule) -> bool:
    own_names, names = owner.get("resourceNames") or (), piece.get("resourceNames") or ()
    if own_names and (not names or names[0] not in own_names):
        return False
    if not _has(owner.get("verbs"), piece["verbs"][0]):
        return False
    if "nonResourceURLs" in piece:
        return any(_url_covers(own, piece["nonResourceURLs"][0]) for own in owner.get("nonResourceURLs") or ())
    resource, resources = piece["resources"][0], owner.get("resources") or ()
    _, slash, subresource = resource.partition("/")
    has_resource = _has(resources, resource) or (bool(slash) and f"*/{subresource}" in resources)
    return has_resource and _has(owner.get("apiGroups"), piece["apiGroups"][0])


def escalation_error(
    username: str, groups: Sequence[str], owner_rules: Sequence[Rule], wanted_rules: Iterable[Rule]
) -> str:
    """Why a user may not grant these rules, or an empty text."""
    covered, missing = rules_cover(owner_rules, wanted_rules)
    if covered:
        return ""
    lines = sorted({describe(rule) for rule in compact(missing)})
    shown = " ".join(go_quote(group) for group in groups)
    head = f"user {go_quote(username)} (groups=[{shown}]) is attempting to grant RBAC permissions not currently held:\n"
    return head + "\n".join(lines)


def compact(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Broken-down rules put together again where they differ only by verb."""
    joined: dict[tuple[str, ...], dict[str, Any]] = {}
    other: list[dict[str, Any]] = []
    for rule in rules:
        if "nonResourceURLs" in rule:
            other.append(dict(rule))
            continue
        key = (rule["apiGroups"][0], rule["resources"][0], *rule.get("resourceNames", ()))
        found = joined.setdefault(key, {**rule, "verbs": []})
        found["verbs"] = [*found["verbs"], *rule["verbs"]]
    return other + list(joined.values())


def describe(rule: Rule) -> str:
    """A rule as an error text shows it."""
    parts = (
        f"{label}:[{' '.join(go_quote(value) for value in rule[field])}]"
        for label, field in _ATTRIBUTES
        if rule.get(field)
    )
    return "{" + ", ".join(parts) + "}"


def aggregate_rules(role: Mapping[str, Any], cluster_roles: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rules of an aggregated role: those of the roles that its selectors choose, by name, each rule once."""
    rules: list[dict[str, Any]] = []
    by_name = sorted(cluster_roles, key=lambda other: str(other["metadata"]["name"]))
    for labels in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        selector = selector_from_object(labels)
        for other in by_name:
            if other["metadata"]["name"] == role["metadata"]["name"]:
                continue
            if selector.matches(other["metadata"].get("labels") or {}):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules
