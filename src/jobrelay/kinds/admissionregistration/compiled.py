"""Policies and their bindings, compiled once: match criteria, and expressions as programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.cel.checker import Checked, CompileError
from jobrelay.apimachinery.cel.program import build
from jobrelay.kinds.admissionregistration.expressions import ExpressionCompiler
from jobrelay.kinds.admissionregistration.matching import MatchCriteria, match_criteria
from jobrelay.kinds.strategy import Obj

_AUTHORIZER: Final = frozenset({"authorizer", "authorizer.requestResource"})
Compile = Callable[[str], Checked]


class Expression:
    """A compiled expression; `error` says why there is no program."""

    __slots__ = ("asks_authorizer", "error", "program", "source")

    def __init__(self, source: str, compile_: Compile) -> None:
        self.source, self.error, self.asks_authorizer = source, "", False
        self.program: Callable[..., Any] | None = None
        try:
            checked = compile_(source)
        except CompileError as error:
            self.error = f"compilation failed: {error}"
            return
        self.program = build(checked)
        self.asks_authorizer = bool(checked.variables & _AUTHORIZER)


class Validation(NamedTuple):
    """One of a policy's validations, and how its refusal is worded."""

    expression: Expression
    message_expression: Expression | None
    message: str
    reason: str


class PolicyExpressions:
    """All expressions of a policy."""

    def __init__(self, spec: Obj) -> None:
        variables = spec.get("variables") or ()
        compiler = ExpressionCompiler(params=spec.get("paramKind") is not None, composed=bool(variables))
        self.variables = {
            each["name"]: Expression(each["expression"], functools.partial(compiler.declare, each["name"]))
            for each in variables
        }
        self.conditions = [
            Expression(each["expression"], compiler.compile) for each in spec.get("matchConditions") or ()
        ]
        self.validations = [_validation(each, compiler) for each in spec.get("validations") or ()]
        self.annotations = [
            Expression(each["valueExpression"], compiler.compile) for each in spec.get("auditAnnotations") or ()
        ]


def _validation(given: Obj, compiler: ExpressionCompiler) -> Validation:
    source = given.get("messageExpression", "")
    return Validation(
        Expression(given["expression"], compiler.compile),
        Expression(source, functools.partial(compiler.compile, authorizer=False)) if source else None,
        given.get("message", "").strip(),
        given.get("reason") or "Invalid",
    )


class Policy:
    """A ValidatingAdmissionPolicy."""

    def __init__(self, obj: Mapping[str, Any]) -> None:
        self._spec = spec = obj["spec"]
        self.name: str = obj["metadata"]["name"]
        self.criteria: MatchCriteria = match_criteria(spec["matchConstraints"])
        self.param_kind: Mapping[str, str] | None = spec.get("paramKind")
        self.ignores_failures: bool = spec.get("failurePolicy") == "Ignore"

    @functools.cached_property
    def expressions(self) -> PolicyExpressions:
        """Compiled when the first request matches."""
        return PolicyExpressions(self._spec)


class Binding:
    """A ValidatingAdmissionPolicyBinding."""

    def __init__(self, obj: Mapping[str, Any]) -> None:
        spec = obj["spec"]
        self.name: str = obj["metadata"]["name"]
        self.policy: str = spec["policyName"]
        self.actions: tuple[str, ...] = tuple(spec.get("validationActions") or ())
        self.param_ref: Mapping[str, Any] | None = spec.get("paramRef")
        match = spec.get("matchResources")
        self.criteria: MatchCriteria | None = match_criteria(match) if match is not None else None


class Hook(NamedTuple):
    """A policy with its bindings."""

    policy: Policy
    bindings: tuple[Binding, ...]
