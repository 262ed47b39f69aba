"""Config maps, secrets, accounts, namespaces, nodes, endpoints, limit ranges, quotas: defaults, preparation, checks."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.quantity import number
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds.core.resources import round_amounts
from jobrelay.kinds.deprecations import deprecation_warning
from jobrelay.kinds.registry import strategy as strategy_of

KINDS = {
    "configmaps": "ConfigMap", "secrets": "Secret", "serviceaccounts": "ServiceAccount", "namespaces": "Namespace",
    "nodes": "Node", "endpoints": "Endpoints", "limitranges": "LimitRange", "resourcequotas": "ResourceQuota",
    "events": "Event",
}  # fmt: skip
CLUSTER = {"namespaces", "nodes"}


def given_object(plural: str, **fields: Any) -> dict[str, Any]:
    """A decoded and defaulted object."""
    fields["metadata"] = {"name": "a", "resourceVersion": "1", **fields.get("metadata", {})}
    if plural not in CLUSTER:
        fields["metadata"].setdefault("namespace", "n")
    kind = type_for_kind("v1", KINDS[plural])
    assert kind is not None
    made: dict[str, Any] = decode(fields, kind)
    strategy_of("", plural).default(made)
    return made


def errors(plural: str, **fields: Any) -> list[str]:
    strategy, made = strategy_of("", plural), given_object(plural, **fields)
    strategy.prepare_create(made)
    return [error.text() for error in strategy.validate_create(made)]


def update_errors(plural: str, new: dict[str, Any], old: dict[str, Any], subresource: str = "") -> list[str]:
    strategy = strategy_of("", plural)
    update = strategy.subresources[subresource] if subresource else strategy.update
    update.prepare(new, old)
    return [error.text() for error in update.validate(new, old)]


def test_finalizer_without_domain_must_be_a_standard_one() -> None:
    found = errors("configmaps", metadata={"finalizers": ["foo", "orphan", "example.com/x"]})
    text = "name is neither a standard finalizer name nor is it fully qualified"
    assert found == [f'metadata.finalizers[0]: Invalid value: "foo": {text}']


def test_config_map_key_in_both_bags_is_refused() -> None:
    found = errors("configmaps", data={"k": "v"}, binaryData={"k": "aGk="})
    assert found == ['data[k]: Invalid value: "k": duplicate of key present in binaryData']


def test_config_map_above_a_mebibyte_names_the_whole_object() -> None:
    found = errors("configmaps", data={"k": "x" * (1024 * 1024 - 1)}, binaryData={"b": "aGk="})
    assert found == ["[]: Too long: may not be more than 1048576 bytes"]


def test_immutable_config_map_keeps_data_and_flag() -> None:
    old = given_object("configmaps", data={"a": "b"}, immutable=True)
    new = given_object("configmaps", data={"a": "c"})
    text = "Forbidden: field is immutable when `immutable` is set"
    assert update_errors("configmaps", new, old) == [f"immutable: {text}", f"data: {text}"]


def test_metadata_of_immutable_config_map_may_change() -> None:
    old = given_object("configmaps", data={"a": "b"}, immutable=True)
    new = given_object("configmaps", data={"a": "b"}, immutable=True, metadata={"labels": {"x": "y"}})
    assert update_errors("configmaps", new, old) == []


def test_string_data_is_folded_into_data_and_wins() -> None:
    secret = given_object("secrets", stringData={"a": "text"}, data={"a": "aGk=", "b": "aGk="})
    assert "stringData" not in secret
    assert secret["data"] == {"a": base64.b64encode(b"text").decode(), "b": "aGk="}
    assert secret["type"] == "Opaque"


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("kubernetes.io/tls", ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("kubernetes.io/ssh-auth", ["data[ssh-privatekey]: Required value"]),
        ("kubernetes.io/basic-auth", ["data[username]: Required value", "data[password]: Required value"]),
        ("kubernetes.io/dockercfg", ["data[.dockercfg]: Required value"]),
        (
            "kubernetes.io/service-account-token",
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        ("example.com/anything", []),
    ],
)
def test_secret_types_have_keys_that_must_be_there(kind: str, missing: list[str]) -> None:
    assert errors("secrets", type=kind) == missing


def test_docker_configuration_must_be_a_json_object() -> None:
    found = errors("secrets", type="kubernetes.io/dockercfg", stringData={".dockercfg": "[]"})
    problem = "json: cannot unmarshal array into Go value of type map[string]interface {}"
    assert found == [f'data[.dockercfg]: Invalid value: "<secret contents redacted>": {problem}']


def test_secret_type_cannot_change() -> None:
    old, new = given_object("secrets", type="x"), given_object("secrets")
    assert update_errors("secrets", new, old) == ['type: Invalid value: "Opaque": field is immutable']


def test_bad_tls_pair_is_a_warning_only() -> None:
    secret = given_object("secrets", type="kubernetes.io/tls", stringData={"tls.crt": "x", "tls.key": "y"})
    strategy = strategy_of("", "secrets")
    assert strategy.validate_create(secret) == []
    assert strategy.warn_create(secret) == ["tls: failed to find any PEM data in certificate input"]


def test_service_account_keeps_only_names_of_secrets() -> None:
    account = given_object("serviceaccounts", secrets=[{"name": "s", "namespace": "other"}, {"kind": "x"}])
    strategy_of("", "serviceaccounts").prepare_create(account)
    assert account["secrets"] == [{"name": "s"}, {}]


def test_new_namespace_is_active_labelled_and_held() -> None:
    namespace = given_object("namespaces", status={"phase": "Terminating"}, spec={"finalizers": ["a.b/c"]})
    strategy_of("", "namespaces").prepare_create(namespace)
    assert namespace["status"] == {"phase": "Active"}
    assert namespace["spec"] == {"finalizers": ["a.b/c", "kubernetes"]}
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}


def test_namespace_update_keeps_spec_and_status() -> None:
    old = given_object("namespaces", spec={"finalizers": ["kubernetes"]})
    new = given_object("namespaces", spec={"finalizers": []}, status={"phase": "Terminating"})
    assert update_errors("namespaces", new, old) == []
    assert (new["spec"], new["status"]) == (old["spec"], old["status"])


def test_namespace_phase_follows_deletion() -> None:
    old, new = given_object("namespaces"), given_object("namespaces", status={"phase": "Terminating"})
    text = "may only be 'Active' if `deletionTimestamp` is empty"
    assert update_errors("namespaces", new, old, "status") == [f'status.Phase: Invalid value: "Terminating": {text}']


def test_new_node_is_tainted_not_ready() -> None:
    node = given_object("nodes", spec={"podCIDR": "10.1.0.0/24"}, status={"capacity": {"cpu": "2"}})
    strategy_of("", "nodes").prepare_create(node)
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    assert node["spec"]["podCIDRs"] == ["10.1.0.0/24"]
    assert node["status"]["allocatable"] == {"cpu": "2"}


def test_node_gets_its_cidr_once() -> None:
    old, new = given_object("nodes", spec={"podCIDR": "10.1.0.0/24"}), given_object("nodes")
    text = 'node updates may not change podCIDR except from "" to valid'
    assert update_errors("nodes", new, old) == [f"spec.podCIDRs: Forbidden: {text}"]


def test_repeated_taint_is_shown_as_a_struct() -> None:
    taint = {"key": "k", "effect": "NoExecute"}
    found = errors("nodes", spec={"taints": [taint, {**taint, "value": "v"}]})
    shown = '{"Key":"k","Value":"v","Effect":"NoExecute","TimeAdded":null}'
    text = "taints must be unique by key and effect pair"
    assert found == [f"metadata.taints[1]: Duplicate value: {shown}: {text}"]


def test_endpoint_addresses_that_others_cannot_reach_are_refused() -> None:
    found = errors("endpoints", subsets=[{"addresses": [{"ip": "127.0.0.1"}, {"ip": "224.0.0.5"}]}])
    assert found == [
        'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1":'
        " may not be in the loopback range (127.0.0.0/8, ::1/128)",
        'subsets[0].addresses[1].ip: Invalid value: "224.0.0.5":'
        " may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
    ]


def test_unchanged_bad_endpoints_may_stay() -> None:
    old = given_object("endpoints", subsets=[{"addresses": [{"ip": "127.0.0.1"}]}])
    new = given_object("endpoints", subsets=[{"addresses": [{"ip": "127.0.0.1"}]}])
    assert update_errors("endpoints", new, old) == []


def test_container_limits_follow_from_bounds() -> None:
    item = {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Gi"}}
    limits = given_object("limitranges", spec={"limits": [item]})["spec"]["limits"][0]
    assert limits["default"] == {"cpu": "2"}
    assert limits["defaultRequest"] == {"cpu": "2", "memory": "1Gi"}


def test_limit_ratio_is_checked_against_bounds() -> None:
    item = {"type": "Container", "max": {"cpu": "4"}, "min": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}}
    found = errors("limitranges", spec={"limits": [item]})
    text = "ratio 3 is greater than max/min = 2.000000"
    assert found == [f'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": {text}']


def test_nameless_limit_range_is_named() -> None:
    limit_range = given_object("limitranges", metadata={"name": ""})
    strategy_of("", "limitranges").prepare_create(limit_range)
    assert len(limit_range["metadata"]["name"]) == 36


def test_quota_scope_must_fit_its_resources() -> None:
    found = errors("resourcequotas", spec={"hard": {"services": "1"}, "scopes": ["BestEffort"]})
    assert found == ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource']


def test_quota_counts_are_whole() -> None:
    assert errors("resourcequotas", spec={"hard": {"pods": "1500m"}}) == [
        'spec.hard[pods]: Invalid value: "1500m": must be an integer'
    ]


def test_quota_warns_of_requests_above_limits() -> None:
    quota = given_object("resourcequotas", spec={"hard": {"cpu": "2", "limits.cpu": "1"}})
    warned = strategy_of("", "resourcequotas").warn_create(quota)
    assert warned == ["ResourceQuota cpu (2) should be less than limits.cpu (1)"]


@given(st.integers(-(10**9), 10**9), st.sampled_from(["n", "u", "m", "", "k"]))
def test_rounded_amounts_are_the_next_thousandth(count: int, suffix: str) -> None:
    amounts = {"cpu": f"{count}{suffix}"}
    before = number(amounts["cpu"])
    round_amounts(amounts)
    after = number(amounts["cpu"])
    assert (after * 1000).denominator == 1
    assert 0 <= abs(after) - abs(before) < 1 / 1000


def test_endpoints_and_component_statuses_are_deprecated() -> None:
    assert deprecation_warning("", "v1", "endpoints").endswith("use discovery.k8s.io/v1 EndpointSlice")
    assert deprecation_warning("", "v1", "componentstatuses") == "v1 ComponentStatus is deprecated in v1.19+"
    assert deprecation_warning("", "v1", "pods") == ""
