"""CEL: compile errors and evaluation against what a real server said, and the engine's own corners."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.cel.checker import CompileError, compile_expression
from jobrelay.apimachinery.cel.cost import UINT_MAX, estimate
from jobrelay.apimachinery.cel.program import build
from jobrelay.apimachinery.cel.syntax import CelSyntaxError, parse
from jobrelay.apimachinery.cel.types import CelType
from jobrelay.apimachinery.cel.values import CelError
from jobrelay.kinds.apiextensions.decls import decl_type, escape
from jobrelay.kinds.apiextensions.structural import StructuralSchema

from .cases import causes, kind_of, made, recorded, rig

COMPILED = recorded("cel_compile")
EVALUATED = recorded("cel_evaluate")


def compile_text(source: str, type_: CelType) -> str:
    try:
        checked = compile_expression(source, {"self": type_, "oldSelf": type_})
    except CompileError as error:
        return f"compilation failed: {error}"
    return "" if checked.result.kind == "bool" else "cel expression must evaluate to a bool"


@pytest.mark.parametrize("case", COMPILED["cases"], ids=lambda case: case["rule"])
def test_a_rule_compiles_as_on_the_real_server(case: dict[str, Any]) -> None:
    type_ = decl_type(StructuralSchema({"type": "object", "properties": COMPILED["properties"]}))
    assert type_ is not None
    assert compile_text(case["rule"], type_) == case["error"]


@pytest.mark.parametrize("case", EVALUATED["cases"], ids=lambda case: case["rule"])
def test_a_rule_evaluates_as_on_the_real_server(case: dict[str, Any]) -> None:
    rules = [{"rule": case["rule"]}]
    spec = {"type": "object", "properties": EVALUATED["properties"], "x-kubernetes-validations": rules}
    kind = kind_of({"type": "object", "properties": {"spec": spec}})
    found = causes(kind.validate_create(made(kind, rig(case["value"]))))
    assert [message for _, _, message in found] == ([case["message"]] if case["message"] else [])


def value_of(source: str, **variables: Any) -> Any:
    checked = compile_expression(source, {name: CelType("dyn") for name in variables})
    return build(checked)(variables)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 2 * 3", 7), ("-7 / 2", -3), ("-7 % 3", -1), ("7u + 1u", 8), ("'a' + 'b'", "ab"), ("[1] + [2]", [1, 2]),
        ("2.5 * 2.0", 5.0),
        ("true ? 'x' : 'y'", "x"), ("'%s-%d-%.2f'.format(['a', 3, 1.5])", "a-3-1.50"),
        ("'%x %b %o'.format([255, 5, 8])", "ff 101 10"),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]), ("['a', 'b'].join('-')", "a-b"), ("'tacocat'.indexOf('o')", 3),
        ("'tacocat'.lastIndexOf('t')", 6), ("'hello'.substring(1, 3)", "el"), ("' a '.trim()", "a"),
        ("'abc'.charAt(1)", "b"),
        ("'Abc'.lowerAscii()", "abc"), ("'aXbX'.replace('X', 'y', 1)", "aybX"),
        ("'a1b22'.findAll('[0-9]+')", ["1", "22"]),
        ("[3, 1, 2].sort()", [1, 2, 3]), ("[1, 2, 2].distinct()", [1, 2]), ("[1, 2, 3].slice(1, 3)", [2, 3]),
        ("[[1], [2]].flatten()", [1, 2]),
        ("lists.range(3)", [0, 1, 2]), ("[1, 2].reverse()", [2, 1]), ("[1, 2].sum()", 3), ("[2, 1].min()", 1),
        ("[1, 3].isSorted()", True),
        ("{'a': 1}.map(k, k)", ["a"]), ("[1, 2].map(x, x > 1, x * 10)", [20]),
        ("[1, 2].transformMap(i, v, v > 1, v)", {1: 2}),
        ("optional.of(1).orValue(2)", 1), ("optional.none().orValue(2)", 2), ("{'a': 1}[?'b'].orValue(9)", 9),
        ("[1][?3].hasValue()", False),
        ("optional.of(2).optMap(x, x + 1).value()", 3), ("[?optional.none(), 1].size()", 1),
        ("{?'a': optional.of(1)}", {"a": 1}),
        ("string(timestamp('2026-01-02T03:04:05Z') + duration('1h'))", "2026-01-02T04:04:05Z"),
        ("duration('90m').getHours()", 1),
        ("timestamp('2026-01-02T03:04:05Z').getHours('+02:00')", 5), ("string(duration('1500ms'))", "1.5s"),
        ("int('42')", 42),
        ("quantity('1Gi').compareTo(quantity('1024Mi'))", 0), ("quantity('1500m').isInteger()", False),
        ("quantity('2').asInteger()", 2),
        ("string(ip('::0001'))", "::1"), ("cidr('10.1.0.0/16').containsCIDR('10.1.2.0/24')", True),
        ("ip('127.0.0.1').isLoopback()", True),
        ("string(cidr('192.168.1.5/24').masked())", "192.168.1.0/24"), ("url('https://h:8/p?q=1').getPort()", "8"),
        ("isURL('x y')", False),
        ("semver('v1.2', true).minor()", 2), ("semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", True),
        ("sets.equivalent([1, 2], [2, 1, 1])", True),
        ("format.dns1123Label().validate('a').hasValue()", False), ("type(1) == int && type('a') == string", True),
        ("b'abc'.size()", 3), ("r'\\d'", "\\d"), ('"""a\nb"""', "a\nb"), ("'\\u00e9'", "é"),
        ("strings.quote('a\"b')", '"a\\"b"'), ("dyn(1) == 1.0", True),
    ],
)  # fmt: skip
def test_the_library_computes(source: str, value: Any) -> None:
    assert value_of(source) == value


def test_errors_are_forgiven_when_the_other_side_decides() -> None:
    assert value_of("x / 0 > 1 || true", x=1) is True
    assert value_of("x / 0 > 1 && false", x=1) is False
    with pytest.raises(CelError, match="division by zero"):
        value_of("x / 0 > 1 || false", x=1)


def test_numbers_overflow() -> None:
    with pytest.raises(CelError, match="integer overflow"):
        value_of("x + 1", x=2**63 - 1)


def test_names_are_escaped_for_cel() -> None:
    assert [escape(name) for name in ("a", "a-b", "a.b/c", "a__b", "namespace", "1a", "ü")] == [
        "a", "a__dash__b", "a__dot__b__slash__c", "a__underscores__b", "__namespace__", None, None,
    ]  # fmt: skip


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(CelSyntaxError):
        parse("(" * 300 + "1" + ")" * 300)


@given(st.text(alphabet="self.ab()[]{}?:'\"!&|<>=+-*/%, 0123456789xrun", max_size=30))
def test_any_text_either_compiles_or_is_explained(source: str) -> None:
    text = compile_text(source, CelType("dyn"))
    assert text == "" or text.startswith(("compilation failed: ERROR: <input>:", "cel expression must"))


def test_cost_grows_with_the_limits_of_the_schema() -> None:
    def cost(limit: int) -> int:
        node = StructuralSchema({"type": "array", "maxItems": limit, "items": {"type": "string", "maxLength": 10}})
        type_ = decl_type(node)
        assert type_ is not None
        return estimate(compile_expression("self.all(x, self.exists(y, x == y))", {"self": type_}), {"self": type_})

    assert cost(10) < cost(100) < cost(1000) <= UINT_MAX


def squared(count: int, *more: str) -> list[str]:
    """The messages for a list of numbers, whose first rule compares each with each."""
    rules = [{"rule": rule} for rule in ("self.list.all(x, self.list.all(y, x + y > 0))", *more)]
    numbers = {"type": "array", "maxItems": 2000, "items": {"type": "integer"}}
    spec = {"type": "object", "properties": {"list": numbers}, "x-kubernetes-validations": rules}
    kind = kind_of({"type": "object", "properties": {"spec": spec}})
    found = causes(kind.validate_create(made(kind, rig({"list": [1] * count}))))
    return [message for _, _, message in found]


def test_an_evaluation_that_costs_too_much_is_stopped() -> None:
    assert squared(100, "false") == ["Invalid value: failed rule: false"]
    (message,) = squared(1001, "false")
    assert message == (
        "Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules "
        "will be run due to call cost exceeds limit for rule: self.list.all(x, self.list.all(y, x + y > 0))"
    )


def test_the_rules_of_an_object_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobrelay.kinds.apiextensions.rules.OBJECT_BUDGET", 200)
    assert squared(10, "self.list.all(x, self.list.all(y, x == y))", "false") == [
        'Invalid value: "object": validation failed due to running out of cost budget, no further validation rules '
        "will be run"
    ]


@pytest.mark.parametrize("source", ["[" * 200 + "]" * 200, "(" * 200 + "1" + ")" * 200, "+".join("1" * 2000)])
def test_expressions_nested_too_deeply_are_refused(source: str) -> None:
    with pytest.raises(CompileError, match=r"ERROR: <input>:-1:0: expression recursion limit exceeded: 250"):
        compile_expression(source, {})


def test_expressions_that_are_too_long_are_refused() -> None:
    with pytest.raises(CompileError, match="expression code point size exceeds limit: size: 100001, limit 100000"):
        compile_expression("1" * 100_001, {})


def test_only_the_first_errors_are_shown_and_no_long_line() -> None:
    with pytest.raises(CompileError) as error:
        compile_expression("\\" * 20_000, {})
    *shown, last = str(error.value).split("\n")
    assert (len(shown), last) == (100, "1 more errors were truncated")


@pytest.mark.parametrize("source", [f"int('{'9' * 5000}')", "'%.999999999f'.format([1.5])"])
def test_values_beyond_all_bounds_are_errors(source: str) -> None:
    with pytest.raises(CelError):
        build(compile_expression(source, {}))({})
