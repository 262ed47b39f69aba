"""What CEL costs: as Kubernetes' own libraries count it, and what a real server says when it is too much."""

from __future__ import annotations

import contextlib
import contextvars
from typing import Any

import pytest

from jobrelay.apimachinery.cel.checker import compile_expression
from jobrelay.apimachinery.cel.cost import estimate
from jobrelay.apimachinery.cel.program import CostMeter, build
from jobrelay.apimachinery.cel.steps import INTERRUPT, CostExceeded
from jobrelay.apimachinery.cel.types import CelType
from jobrelay.apimachinery.cel.values import CelError
from jobrelay.kinds.apiextensions import decls
from jobrelay.kinds.apiextensions.structural import StructuralSchema

from .cases import causes, kind_of, made, recorded, rig

COSTS = recorded("cel_cost")
NODE = StructuralSchema(COSTS["schema"])
OBJECTS = pytest.mark.parametrize("found", COSTS["objects"], ids=lambda found: found["rules"][0][0])


def self_type() -> CelType:
    type_ = decls.decl_type(NODE)
    assert type_ is not None
    return type_


def spent(source: str, value: Any) -> int:
    """What an evaluation costs, whatever comes out."""
    meter = CostMeter()
    with contextlib.suppress(CelError):
        build(compile_expression(source, {"self": self_type()}))({"self": decls.view(value, NODE)}, meter)
    return meter.spent


@OBJECTS
def test_rules_cost_what_they_do_in_kubernetes(found: dict[str, Any]) -> None:
    assert {rule: spent(rule, found["self"]) for rule, _, _ in found["rules"]} == {
        rule: cost for rule, cost, _ in found["rules"]
    }


@OBJECTS
def test_rules_are_estimated_as_in_kubernetes(found: dict[str, Any]) -> None:
    types = {"self": self_type()}
    assert {rule: estimate(compile_expression(rule, types), types) for rule, _, _ in found["rules"]} == {
        rule: most for rule, _, most in found["rules"]
    }


@pytest.mark.parametrize("case", recorded("cel_budget")["cases"], ids=lambda case: case["case"])
def test_what_costs_too_much_is_refused_as_on_the_real_server(case: dict[str, Any]) -> None:
    numbers = {"type": "array", "maxItems": 800, "items": {"type": "integer"}}
    spec = {"type": "object", "properties": {"l": numbers}, "x-kubernetes-validations": case["rules"]}
    kind = kind_of({"type": "object", "properties": {"spec": spec}})
    found = causes(kind.validate_create(made(kind, rig({"l": list(range(case["items"]))}))))
    assert found == case["causes"]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("lists.range(5000000).size() > 0", {}),
        ("self.l.distinct().size() > 0", {"l": list(range(100_000))}),
        ("self.s.contains(self.t)", {"s": "x" * 100_000, "t": "y" * 100_000}),
    ],
)
def test_work_that_costs_too_much_is_not_begun(rule: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    checked = compile_expression(rule, {"self": self_type()})
    for overloads in checked.overloads.values():
        for overload in overloads:
            monkeypatch.setattr(overload, "impl", lambda *args: done.append(args))
    with pytest.raises(CostExceeded):
        build(checked)({"self": decls.view(value, NODE)})
    assert done == []


def test_evaluation_can_be_interrupted_where_it_costs_nothing() -> None:
    calls: list[int] = []

    def interrupt() -> None:
        calls.append(1)
        if len(calls) == 5:
            raise CelError("operation interrupted")

    program = build(compile_expression("self.l.filter(x, false).size() == 0", {"self": self_type()}))
    context = contextvars.copy_context()
    context.run(INTERRUPT.set, interrupt)
    with pytest.raises(CelError, match="operation interrupted"):
        context.run(program, {"self": decls.view({"l": [1] * 1000}, NODE)})


def test_joined_lists_are_not_copied() -> None:
    value = {"l": [1, 2], "e": [3]}
    program = build(compile_expression("(self.l + self.e + [4])[2] == 3", {"self": self_type()}))
    assert program({"self": decls.view(value, NODE)}) is True
    joined = build(compile_expression("self.l + self.e", {"self": self_type()}))({"self": decls.view(value, NODE)})
    assert (len(joined), list(joined), list(joined[1:])) == (3, [1, 2, 3], [2, 3])


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e5, "100000"), (999999.0, "999999"), (1e6, "1e+06"), (1234567.5, "1.2345675e+06"), (-1.5e-7, "-1.5e-07")],
)
def test_numbers_are_written_as_by_go(value: float, text: str) -> None:
    program = build(compile_expression("string(self.f)", {"self": self_type()}))
    assert program({"self": decls.view({"f": value}, NODE)}) == text
