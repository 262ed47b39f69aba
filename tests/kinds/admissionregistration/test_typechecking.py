"""Expressions of policies against the types of the kinds that they are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobrelay.apimachinery.cel.types import CelType
from jobrelay.kinds import registry
from jobrelay.kinds.admissionregistration.schematypes import built_in_type, custom_type
from jobrelay.kinds.admissionregistration.typechecking import GroupVersionKind, checked_kinds, expression_warnings
from jobrelay.kinds.apiextensions.strategy import CustomKind

KINDS = {("apps", "v1", "deployments"): "Deployment", ("apps", "v1", "replicasets"): "ReplicaSet"}
SERVED = {(row["group"], row["version"], row["plural"]): row["kind"] for row in registry.resources()}
CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data/policy_type_checks.json").read_text())
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def kind_of(group: str, version: str, resource: str) -> str | None:
    return KINDS.get((group, version, resource))


def type_of(kind: GroupVersionKind) -> CelType | None:
    return built_in_type(f"{kind.group}/{kind.version}".removeprefix("/"), kind.kind)


def rule(*resources: str, group: str = "apps", version: str = "v1") -> dict[str, Any]:
    return {"apiGroups": [group], "apiVersions": [version], "resources": [*resources]}


def spec(*validations: dict[str, str] | str, rules: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    checks = [{"expression": each} if isinstance(each, str) else each for each in validations]
    return {"matchConstraints": {"resourceRules": rules or [rule("deployments")]}, "validations": checks, **more}


def warnings(*validations: dict[str, str] | str, **more: Any) -> list[dict[str, Any]]:
    return expression_warnings(spec(*validations, **more), kind_of, type_of)


@pytest.mark.parametrize("case", CASES)
def test_warnings_are_those_of_a_real_controller(case: dict[str, Any]) -> None:
    found = expression_warnings(case["spec"], lambda *resource: SERVED.get(resource), type_of)
    assert found == case["warnings"]


def test_a_right_expression_has_no_warning() -> None:
    assert warnings("object.spec.replicas > 1 && object.metadata.namespace != 'x'") == []


def test_a_warning_names_the_expression_and_the_kind() -> None:
    found = warnings("true", {"expression": "true", "messageExpression": "'n' + object.spec.replicas"})
    text = "found no matching overload for '_+_' applied to '(string, int)'"
    assert found == [
        {
            "fieldRef": "spec.validations[1].messageExpression",
            "warning": f"{DEPLOYMENT}: ERROR: <input>:1:5: {text}\n | 'n' + object.spec.replicas\n | ....^\n",
        }
    ]


def test_each_kind_has_its_own_warning() -> None:
    found = warnings("object.spec.nothing == 1", rules=[rule("deployments", "replicasets")])
    assert [line.partition(":")[0] for line in found[0]["warning"].split("\n") if "Kind=" in line] == [
        "apps/v1, Kind=Deployment", "apps/v1, Kind=ReplicaSet",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rules",
    [[rule("*")], [rule("deployments/scale")], [rule("deployments", group="*")], [rule("deployments", version="*")]],
)
def test_wildcards_and_subresources_name_no_kind(rules: list[dict[str, Any]]) -> None:
    assert checked_kinds(spec(rules=rules), kind_of) == []


def test_variables_have_the_types_of_their_expressions() -> None:
    variables = [{"name": "n", "expression": "object.spec.replicas"}, {"name": "bad", "expression": "object.spec.none"}]
    found = warnings("variables.n == 'x'", "variables.bad == 'x'", variables=variables)
    assert [each["fieldRef"] for each in found] == ["spec.validations[0].expression"]


def test_parameters_have_the_type_of_their_kind() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert warnings("params.data.x == 'y'", paramKind=kind) == []
    assert "(string, int)" in warnings("params.data.x == 1", paramKind=kind)[0]["warning"]
    unknown = {"apiVersion": "example.com/v1", "kind": "Nothing"}
    assert "undeclared reference to 'params'" in warnings("params.x == 1", paramKind=unknown)[0]["warning"]


def test_two_lists_of_one_kind_have_types_of_their_own() -> None:
    pod = "object.spec.template.spec"
    found = warnings(f"({pod}.containers + {pod}.initContainers).size() > 0")
    assert "found no matching overload for '_+_'" in found[0]["warning"]


def test_a_custom_kind_has_the_metadata_of_every_object() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Widget", "plural": "widgets"}
    crd = {"spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}}
    widget = custom_type(CustomKind(crd, "v1"), "Widget")
    found = expression_warnings(
        spec("object.metadata.labels.x == 'y' && object.spec.n > 1 && object.kind == 'Widget'", "object.spec.m == 1"),
        kind_of,
        lambda kind: widget,
    )
    assert [each["fieldRef"] for each in found] == ["spec.validations[1].expression"]
