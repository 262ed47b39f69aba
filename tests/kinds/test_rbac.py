"""What RBAC rules allow, whether they cover others, aggregation, and the policy of a fresh cluster."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds import registry
from jobrelay.kinds.bootstrap import bootstrap, policy
from jobrelay.kinds.rbac import rules
from jobrelay.kinds.rbac.roles import STRATEGIES

FULL_AUTHORITY: list[dict[str, Any]] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
words = st.sampled_from(["*", "a", "b", "c/status", "*/status"])
policy_rules = st.lists(
    st.fixed_dictionaries(
        {name: st.lists(words, min_size=1, max_size=3) for name in ("verbs", "apiGroups", "resources")},
        optional={"resourceNames": st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=2)},
    ),
    max_size=3,
)


def rule(verbs: str, resources: str, group: str = "", names: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return made | ({"resourceNames": names.split()} if names else {})


@pytest.mark.parametrize(
    ("held", "request_", "allowed"),
    [
        (rule("get", "pods"), ("get", "", "pods"), True),
        (rule("get", "pods"), ("get", "", "pods", "log"), False),
        (rule("get", "*/log"), ("get", "", "pods", "log"), True),
        (rule("get", "*"), ("get", "", "pods", "log"), True),
        (rule("*", "pods", "*"), ("delete", "batch", "pods"), True),
        (rule("get", "pods", names="a"), ("get", "", "pods", "", "a"), True),
        (rule("get", "pods", names="a"), ("get", "", "pods"), False),
    ],
)
def test_what_a_rule_allows(held: dict[str, Any], request_: tuple[str, ...], allowed: bool) -> None:
    assert rules.rule_allows(held, *request_) is allowed


def test_url_rules_may_end_with_a_star() -> None:
    held = {"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}
    assert rules.rule_allows_url(held, "get", "/healthz/etcd")
    assert not rules.rule_allows_url(held, "get", "/metrics")


def test_service_account_subject_lives_in_the_bindings_namespace() -> None:
    subjects = [{"kind": "ServiceAccount", "name": "s"}]
    assert rules.binding_subject(subjects, "system:serviceaccount:n:s", [], "n") == subjects[0]
    assert rules.binding_subject(subjects, "system:serviceaccount:n:s", []) is None


@given(policy_rules)
def test_rules_cover_themselves(held: list[dict[str, Any]]) -> None:
    assert rules.rules_cover(held, held) == (True, [])


@given(policy_rules)
def test_full_authority_covers_everything(wanted: list[dict[str, Any]]) -> None:
    assert rules.rules_cover(FULL_AUTHORITY, wanted) == (True, [])


def test_escalation_names_what_is_missing() -> None:
    wanted = [rule("get list watch", "pods secrets"), {"verbs": ["get"], "nonResourceURLs": ["/x"]}]
    text = rules.escalation_error("alice", ["g", "h"], [rule("get", "pods")], wanted)
    assert text.split("\n") == [
        'user "alice" (groups=["g" "h"]) is attempting to grant RBAC permissions not currently held:',
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
    ]


def test_aggregation_takes_each_rule_once_in_order_of_names() -> None:
    role = {"metadata": {"name": "all"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}] * 2}}
    parts = [
        {"metadata": {"name": "y", "labels": {"a": "b"}}, "rules": [rule("get", "two"), rule("get", "one")]},
        {"metadata": {"name": "x", "labels": {"a": "b"}}, "rules": [rule("get", "one")]},
        {"metadata": {"name": "z", "labels": {}}, "rules": [rule("get", "three")]},
    ]
    assert rules.aggregate_rules(role, parts) == [rule("get", "one"), rule("get", "two")]


def test_role_reference_cannot_change() -> None:
    kind = type_for_kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
    assert kind is not None
    strategy = STRATEGIES["rbac.authorization.k8s.io", "clusterrolebindings"]
    made = [
        decode({"metadata": {"name": "b", "resourceVersion": "1"}, "roleRef": {"kind": "ClusterRole", "name": n}}, kind)
        for n in ("new", "old")
    ]
    for binding in made:
        strategy.default(binding)
    shown = '{"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"new"}'
    found = [error.text() for error in strategy.update.validate(*made)]
    assert found == [f"roleRef: Invalid value: {shown}: cannot change roleRef"]


def test_every_bootstrap_object_is_valid() -> None:
    plurals = {(row["group"], row["kind"]): row["plural"] for row in registry.resources()}
    for obj in [entry.object for entry in bootstrap()]:
        group = obj["apiVersion"].rpartition("/")[0]
        kind = type_for_kind(obj["apiVersion"], obj["kind"])
        assert kind is not None
        made = decode(obj, kind)
        strategy = registry.strategy(group, plurals[group, obj["kind"]])
        strategy.default(made)
        strategy.prepare_create(made)
        assert strategy.validate_create(made) == [] or obj["kind"] == "Service"


def test_aggregated_roles_settle() -> None:
    roles = {role["metadata"]["name"]: role for role in policy() if role["kind"] == "ClusterRole"}
    for name in ("view", "edit", "admin"):
        roles[name]["rules"] = rules.aggregate_rules(roles[name], roles.values())
    sizes = [len(roles[name]["rules"]) for name in ("view", "edit", "admin")]
    assert sizes == [12, 27, 29]


def test_flow_schemas_come_after_their_levels() -> None:
    seen: set[str] = set()
    for entry in bootstrap():
        if entry.object["kind"] == "FlowSchema":
            assert entry.object["spec"]["priorityLevelConfiguration"]["name"] in seen
        seen.add(entry.object["metadata"]["name"])
