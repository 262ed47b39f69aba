"""Which requests the rules of policies and webhooks match."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.cluster.apiserver.admission.matching import GroupVersionResource, MatchAttributes, match_criteria

PODS = GroupVersionResource("", "v1", "pods")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
SCALER_V1 = GroupVersionResource("autoscaling", "v1", "horizontalpodautoscalers")
SCALER_V2 = SCALER_V1._replace(version="v2")
POD = {"metadata": {"labels": {"app": "web"}}}


def rule(resource: str = "pods", **more: Any) -> dict[str, Any]:
    return {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": [resource], **more}


def create(resource: GroupVersionResource = PODS, **more: Any) -> MatchAttributes:
    return MatchAttributes(resource, **{"subresource": "", "operation": "CREATE", "namespace": "default", **more})


def matched(
    match: dict[str, Any],
    attributes: MatchAttributes,
    *,
    others: tuple[GroupVersionResource, ...] = (),
    labels: dict[str, str] | None = None,
    objects: tuple[dict[str, Any], ...] = (POD,),
) -> GroupVersionResource | None:
    return match_criteria(match).match(attributes, others, lambda: labels, objects)


@pytest.mark.parametrize(
    ("given", "attributes", "expected"),
    [
        (rule(), create(), True),
        (rule(), create(subresource="status"), False),
        (rule("pods/*"), create(subresource="status"), True),
        (rule("pods/*"), create(), True),
        (rule("*/status"), create(subresource="status"), True),
        (rule("*"), create(), True),
        (rule("*"), create(subresource="status"), False),
        (rule("*/*"), create(subresource="status"), True),
        (rule(operations=["UPDATE"]), create(), False),
        (rule(operations=["UPDATE", "CREATE"]), create(), True),
        (rule(apiGroups=["apps"]), create(), False),
        (rule(apiVersions=["v2"]), create(), False),
        (rule(scope="Cluster"), create(), False),
        (rule(scope="Namespaced"), create(), True),
        (rule(scope="Namespaced"), create(namespace=""), False),
        (rule("namespaces", scope="Cluster"), create(NAMESPACES, namespace="own-name"), True),
        (rule("namespaces", scope="Namespaced"), create(NAMESPACES, namespace="own-name"), False),
        (rule(resourceNames=["web"]), create(name="web"), True),
        (rule(resourceNames=["web"]), create(name="other"), False),
    ],
)
def test_rules(given: dict[str, Any], attributes: MatchAttributes, expected: bool) -> None:
    assert (matched({"resourceRules": [given]}, attributes) is not None) is expected


def test_no_rules_match_everything() -> None:
    assert matched({}, create()) == PODS


def test_an_excluded_request_does_not_match() -> None:
    match = {"resourceRules": [rule("*")], "excludeResourceRules": [rule(resourceNames=["web"])]}
    assert matched(match, create(name="other")) == PODS
    assert matched(match, create(name="web")) is None


def test_an_equivalent_resource_matches_as_the_one_of_the_rule() -> None:
    match = {"resourceRules": [rule(SCALER_V1.resource, apiVersions=["v1"])], "matchPolicy": "Equivalent"}
    assert matched(match, create(SCALER_V2), others=(SCALER_V1,)) == SCALER_V1


def test_an_exact_policy_does_not_match_equivalent_resources() -> None:
    match = {"resourceRules": [rule(SCALER_V1.resource, apiVersions=["v1"])], "matchPolicy": "Exact"}
    assert matched(match, create(SCALER_V2), others=(SCALER_V1,)) is None


def test_the_labels_of_the_namespace_are_selected_by() -> None:
    match = {"resourceRules": [rule()], "namespaceSelector": {"matchLabels": {"team": "a"}}}
    assert matched(match, create(), labels={"team": "a"}) == PODS
    assert matched(match, create(), labels={"team": "b"}) is None
    assert matched(match, create(namespace="")) == PODS


def test_one_of_the_two_objects_has_to_be_selected() -> None:
    match = {"resourceRules": [rule()], "objectSelector": {"matchLabels": {"app": "web"}}}
    assert matched(match, create(), objects=({"metadata": {}}, POD)) == PODS
    assert matched(match, create(), objects=({"metadata": {}},)) is None


def test_covering_is_regardless_of_names_scopes_and_selectors() -> None:
    criteria = match_criteria({"resourceRules": [rule(resourceNames=["web"], scope="Cluster")]})
    assert criteria.covers(PODS, "", "CREATE", ())
    assert not criteria.covers(PODS, "status", "CREATE", ())
    assert not criteria.covers(NAMESPACES, "", "CREATE", ())
