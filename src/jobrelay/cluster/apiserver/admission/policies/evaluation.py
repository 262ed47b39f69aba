"""Evaluates the expressions of a policy for one request and one parameter.

Expressions of one sort share the lazily evaluated `variables` and a cost budget. Running out of it ends the evaluation;
an expression that fails does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.cel.program import CostMeter
from jobrelay.apimachinery.cel.steps import CostExceeded
from jobrelay.apimachinery.cel.values import CelError, type_name
from jobrelay.apimachinery.field import go_quote
from jobrelay.cluster.apiserver.admission.policies.inputs import Inputs
from jobrelay.kinds.admissionregistration.compiled import Expression, Policy, Validation
from jobrelay.kinds.strategy import Obj

BUDGET: Final = 10_000_000
CONDITIONS_BUDGET: Final = 2_500_000
_MESSAGE_MAX: Final = 5 * 1024  # bytes
_NO_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class OutOfBudget(Exception):
    """The expressions cost more than they may."""

    def __init__(self) -> None:
        super().__init__(_NO_BUDGET)


class PolicyRefusal(NamedTuple):
    """Why a policy refuses a request."""

    message: str
    reason: str = ""


class ExpressionResult(NamedTuple):
    """The value of an expression, or why there is none."""

    value: Any = None
    error: str = ""


class PolicyDecision(NamedTuple):
    """What a policy says: refusals, which the actions of the binding apply to, and errors of audit annotations."""

    refusals: Sequence[PolicyRefusal] = ()
    annotation_errors: Sequence[str] = ()


class _Variables(Mapping[str, Any]):
    """The variables of a policy, evaluated when they are first read."""

    def __init__(self, expressions: Mapping[str, Expression], activation: _Activation) -> None:
        self._expressions, self._activation = expressions, activation
        self._known: dict[str, ExpressionResult] = {}
        self.cost = 0

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._evaluate(name, self._expressions[name])
        value, error = self._known[name]
        if error:
            raise CelError(error)
        return value

    def _evaluate(self, name: str, expression: Expression) -> ExpressionResult:
        shown = f"composited variable {go_quote(name)} fails to"
        if expression.program is None:
            return ExpressionResult(error=f"{shown} compile: {expression.error}")
        meter = CostMeter()
        try:
            return ExpressionResult(expression.program(self._activation, meter))
        except (CelError, CostExceeded) as error:
            return ExpressionResult(error=f"{shown} evaluate: {error}")
        finally:
            self.cost += meter.spent

    def __iter__(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


class _Activation:
    """The variables that an expression may name."""

    def __init__(self, inputs: Inputs, params: Obj | None, variables: Mapping[str, Expression]) -> None:
        self._inputs, self._params = inputs, params
        self.variables = _Variables(variables, self)

    def get(self, name: str) -> Any:
        if name == "variables":
            return self.variables
        return self._params if name == "params" else self._inputs.get(name)


class _Evaluation:
    """Evaluates expressions one after the other, as long as the budget lasts."""

    def __init__(self, activation: _Activation, budget: int) -> None:
        self._activation, self.left = activation, budget

    def evaluate(self, expression: Expression) -> ExpressionResult:
        """The outcome of one expression; raises OutOfBudget."""
        if expression.program is None:
            return ExpressionResult(error=f"compilation error: {expression.error}")
        meter, variables = CostMeter(), self._activation.variables
        before = variables.cost
        try:
            return ExpressionResult(expression.program(self._activation, meter))
        except (CelError, CostExceeded) as error:
            return ExpressionResult(error=f"expression '{expression.source}' resulted in error: {error}")
        finally:
            self._spend(variables.cost - before + meter.spent)

    def _spend(self, cost: int) -> None:
        if cost > self.left:
            raise OutOfBudget
        self.left -= cost


class PolicyEvaluator:
    """Evaluates one policy for one request. `conditional` are the inputs of match conditions, `inputs` of the rest."""

    def __init__(self, policy: Policy, conditional: Inputs, inputs: Inputs) -> None:
        self._policy, self._expressions = policy, policy.expressions
        self._conditional, self._inputs = conditional, inputs

    def evaluate(self, params: Obj | None) -> PolicyDecision:
        try:
            if not self._meets_conditions(params):
                return PolicyDecision()
            refusals = self._refusals(params)
            return PolicyDecision(refusals, self._annotation_errors(params))
        except OutOfBudget as error:
            return PolicyDecision(self._failure(str(error)))
        except _ConditionsFailed as error:
            return PolicyDecision([PolicyRefusal(str(error))])

    def _start(self, inputs: Inputs, params: Obj | None, budget: int) -> _Evaluation:
        return _Evaluation(_Activation(inputs, params, self._expressions.variables), budget)

    def _failure(self, message: str) -> list[PolicyRefusal]:
        return [] if self._policy.ignores_failures else [PolicyRefusal(message)]

    def _meets_conditions(self, params: Obj | None) -> bool:
        """Whether no condition is false. Errors count only if none is; then they fail the policy or are ignored."""
        if not self._expressions.conditions:
            return True
        evaluation = self._start(self._conditional, params, CONDITIONS_BUDGET)
        try:
            found = [evaluation.evaluate(expression) for expression in self._expressions.conditions]
        except OutOfBudget as error:
            return self._conditions_failed([str(error)])
        if any(outcome.value is False for outcome in found):
            return False
        errors = [outcome.error for outcome in found if outcome.error]
        return self._conditions_failed(errors) if errors else True

    def _conditions_failed(self, errors: list[str]) -> bool:
        if self._policy.ignores_failures:
            return False
        unique = list(dict.fromkeys(errors))
        raise _ConditionsFailed(unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")

    def _refusals(self, params: Obj | None) -> list[PolicyRefusal]:
        evaluation = self._start(self._inputs, params, BUDGET)
        validations = self._expressions.validations
        found = [evaluation.evaluate(validation.expression) for validation in validations]
        try:
            messages = self._messages(params, evaluation.left)
        except OutOfBudget as error:
            failure = self._failure(f"failed messageExpression: {error}")
            return [each for outcome in found for each in (self._failure(outcome.error) if outcome.error else failure)]
        refusals: list[PolicyRefusal] = []
        for validation, outcome, message in zip(validations, found, messages, strict=True):
            if outcome.error:
                refusals += self._failure(outcome.error)
            elif outcome.value is not True:
                refusals.append(PolicyRefusal(message or _own_message(validation), validation.reason))
        return refusals

    def _messages(self, params: Obj | None, budget: int) -> list[str]:
        """What the message expressions make; empty where there is none or where it cannot be used."""
        evaluation = self._start(self._inputs, params, budget)
        expressions = [validation.message_expression for validation in self._expressions.validations]
        return [_usable(evaluation.evaluate(each)) if each is not None else "" for each in expressions]

    def _annotation_errors(self, params: Obj | None) -> list[str]:
        """The errors of audit annotations. Their values are not kept: this server writes no audit log."""
        evaluation = self._start(self._inputs, params, BUDGET)
        errors = []
        for expression in self._expressions.annotations:
            if expression.asks_authorizer:
                failure = "no such attribute(s): authorizer"
                outcome = ExpressionResult(error=f"expression '{expression.source}' resulted in error: {failure}")
            else:
                outcome = evaluation.evaluate(expression)
            errors += _annotation_error(expression, outcome, ignores_failures=self._policy.ignores_failures)
        return errors


class _ConditionsFailed(Exception):
    """Match conditions that could not be evaluated."""


def _usable(outcome: ExpressionResult) -> str:
    text = outcome.value.strip() if isinstance(outcome.value, str) else ""
    return "" if "\n" in text or len(text.encode()) > _MESSAGE_MAX else text


def _own_message(validation: Validation) -> str:
    return validation.message or f"failed expression: {validation.expression.source.strip()}"


def _annotation_error(expression: Expression, outcome: ExpressionResult, *, ignores_failures: bool) -> list[str]:
    if outcome.error:
        return [] if ignores_failures else [outcome.error]
    if outcome.value is None or isinstance(outcome.value, str):
        return []
    return [
        f"valueExpression '{expression.source}' resulted in unsupported return type: {type_name(outcome.value)}. "
        "Return type must be either string or null."
    ]
