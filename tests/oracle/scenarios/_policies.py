"""Policies and bindings as scenarios make them, and how they are brought into force.

A real server takes a moment for that. Preparations end with a policy of their own that refuses one ConfigMap: when that
is refused, everything before it is in force too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..model import Scenario, Step, post, scenario
from ._objects import CONFIGMAPS, Object, configmap

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{REGISTRATION}/validatingadmissionpolicies"
BINDINGS = f"{REGISTRATION}/validatingadmissionpolicybindings"
HERE = {"matchLabels": {"kubernetes.io/metadata.name": "{{ns}}"}}


def rule(
    *resources: str, group: str = "", version: str = "v1", operations: Sequence[str] = ("CREATE",), **more: Any
) -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources),
        **more,
    }


def about(*names: str) -> Object:
    """Match constraints for ConfigMaps of these names."""
    return {"resourceRules": [rule("configmaps", resourceNames=list(names))]}


def policy(tag: str, *validations: Object | str, match: Object | None = None, **spec: Any) -> Object:
    """A policy about ConfigMaps of this scenario's namespace, unless told otherwise."""
    constraints = {"namespaceSelector": HERE, "resourceRules": [rule("configmaps")], **(match or {})}
    checks = [{"expression": each} if isinstance(each, str) else each for each in validations]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": f"{tag}-{{{{run}}}}"},
        "spec": {"matchConstraints": constraints, "validations": checks, **spec},
    }


def binding(tag: str, *actions: str, **spec: Any) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{tag}-{{{{run}}}}"},
        "spec": {"policyName": f"{tag}-{{{{run}}}}", "validationActions": list(actions or ("Deny",)), **spec},
    }


def said(expression: str) -> Object:
    """A validation that always fails, and says the value of an expression."""
    return {"expression": "false", "messageExpression": expression}


def create(name: str = "cm", **data: str) -> Step:
    return post(CONFIGMAPS, configmap(name, **data))


class Stage:
    """Makes the steps of one scenario, and remembers what is to be removed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cleanup: list[str] = []
        self._turns = 0

    def bound(
        self,
        tag: str,
        *validations: Object | str,
        actions: Sequence[str] = (),
        ref: Object | None = None,
        **spec: Any,
    ) -> tuple[Object, Object]:
        """A policy and its binding; `ref` are the parameters."""
        name = f"{self.name}-{tag}"
        return policy(name, *validations, **spec), binding(name, *actions, **({"paramRef": ref} if ref else {}))

    def named(self, name: str, *validations: Object | str, **more: Any) -> tuple[Object, Object]:
        """As `bound`, for the ConfigMap of that name only."""
        return self.bound(name, *validations, match=about(name), **more)

    def force(self, *objects: Object) -> Iterator[Step]:
        """Creates policies and bindings, and waits until they are in force."""
        self._turns += 1
        turn = f"{self.name}-turn{self._turns}"
        last = policy(turn, {"expression": "false", "message": "in force"}, match=about(turn))
        for obj in (*objects, last, binding(turn)):
            kind = POLICIES if obj["kind"] == "ValidatingAdmissionPolicy" else BINDINGS
            self.cleanup.append(f"{kind}/{obj['metadata']['name']}")
            yield post(kind, obj)
        yield post(f"{CONFIGMAPS}?dryRun=All", configmap(turn), until=422)


def staged(scenarios: Sequence[tuple[str, Callable[[Stage], Iterator[Step]]]]) -> Iterator[Scenario]:
    for name, steps in scenarios:
        stage = Stage(f"policy-{name}")
        yield scenario(stage.name, tuple(steps(stage)), stage.cleanup)
