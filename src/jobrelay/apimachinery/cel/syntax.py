"""CEL's syntax: parses text to a tree of nodes with positions; macros are recognised.

Macros (`has`, `all`, `exists`, `map`, ...) are kept as nodes of their own rather than unfolded into loops; the checker,
the cost estimate and the evaluator know each of them. Syntax errors have the words of the Go engine's generated parser
for the mistakes that people make: a missing operand, a missing parenthesis, a stray token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from jobrelay.apimachinery.cel.literals import LiteralError, Uint, unquote
from jobrelay.apimachinery.goint import read_int

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    |(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<string>[bB]?[rR]?(?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)''')
        |(?:[rR][bB]?|[bB][rR])(?:"[^"\n]*"|'[^'\n]*')|[bB]?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<ident>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<quoted>`[A-Za-z0-9_.\-/ ]+`)
    |(?P<op>==|!=|<=|>=|&&|\|\||[<>+\-*/%!?:.,()\[\]{}])""",
    re.VERBOSE,
)
RESERVED: Final = frozenset({
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
})  # fmt: skip
_START: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_START_OPTIONAL: Final = _START.replace("'!', ", "'!', '?', ")
_START_OR_CLOSE: Final = _START.replace("'(', ", "'(', ')', ")
_END: Final = "<EOF>"
MAX_DEPTH: Final = 100  # the Go engine allows 250
TOO_DEEP: Final = "expression recursion limit exceeded: 250"
NOWHERE: Final = -1  # the offset of issues that have no place
_MOST_ISSUES: Final = 100
_LONGEST_SOURCE: Final = 100_000
_LONGEST_SNIPPET: Final = 16_384


@dataclass(slots=True)
class Expr:
    """A node of the tree. `at` is the offset that errors point to."""

    at: int


@dataclass(slots=True)
class Literal(Expr):
    value: Any


@dataclass(slots=True)
class Ident(Expr):
    name: str


@dataclass(slots=True)
class Select(Expr):
    """`operand.field`, or `operand.?field`; with `test` it is `has(operand.field)`."""

    operand: Expr
    field: str
    test: bool = False
    optional: bool = False


@dataclass(slots=True)
class Call(Expr):
    """An operator (named as CEL names it, `_+_`) or function; `target` is set for `target.function(args)`."""

    function: str
    args: list[Expr]
    target: Expr | None = None


@dataclass(slots=True)
class ListLiteral(Expr):
    items: list[Expr]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True)
class MapLiteral(Expr):
    entries: list[tuple[Expr, Expr]]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True)
class Macro(Expr):
    """`range.name(variables..., args...)`."""

    name: str
    range: Expr
    variables: list[str]
    args: list[Expr] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class CelToken:
    kind: str
    text: str
    at: int


class CelSyntaxError(ValueError):
    """One or more mistakes; `issues` are (offset, message) pairs."""

    def __init__(self, issues: list[tuple[int, str]]) -> None:
        super().__init__(issues[0][1])
        self.issues = issues


def render(source: str, issues: list[tuple[int, str]]) -> str:
    """Issues as the Go engine prints them: the message, the line unless it is long, and a caret below the place."""
    shown = []
    for at, message in sorted(issues[:_MOST_ISSUES], key=lambda issue: issue[0]):
        if at == NOWHERE:
            shown.append(f"ERROR: <input>:-1:0: {message}")
            continue
        line = source.count("\n", 0, at)
        start = source.rfind("\n", 0, at) + 1
        text = source[start:].split("\n", 1)[0].replace("\t", " ")
        column = at - start
        snippet = f"\n | {text}\n | {'.' * column}^" if len(text.encode()) <= _LONGEST_SNIPPET else ""
        shown.append(f"ERROR: <input>:{line + 1}:{column + 1}: {message}{snippet}")
    if len(issues) > _MOST_ISSUES:
        shown.append(f"{len(issues) - _MOST_ISSUES} more errors were truncated")
    return "\n".join(shown)


def parse(source: str) -> Expr:
    """The tree of an expression; raises CelSyntaxError."""
    if len(source) > _LONGEST_SOURCE:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {_LONGEST_SOURCE}"
        raise CelSyntaxError([(NOWHERE, text)])
    return _CelParser(source).parse()


# Binary operators by precedence, the weakest first.
_OPERATORS: Final[tuple[dict[str, str], ...]] = (
    {"||": "_||_"},
    {"&&": "_&&_"},
    {"==": "_==_", "!=": "_!=_", "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "in": "@in"},
    {"+": "_+_", "-": "_-_"},
    {"*": "_*_", "/": "_/_", "%": "_%_"},
)
_ONE_VARIABLE: Final = {
    "all": (2,), "exists": (2,), "exists_one": (2,), "existsOne": (2,), "map": (2, 3), "filter": (2,), "sortBy": (2,),
}  # fmt: skip
_TWO_VARIABLES: Final = {
    "all": (3,), "exists": (3,), "existsOne": (3,), "exists_one": (3,), "transformList": (3, 4), "transformMap": (3, 4),
    "transformMapEntry": (3, 4),
}  # fmt: skip
_NOT_A_NAME: Final = "argument must be a simple name"
_OPTIONAL_MACROS: Final = ("optMap", "optFlatMap")


class _CelParser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.issues: list[tuple[int, str]] = []
        self.tokens = self._tokens()
        self.next = 0
        self.depth = 0

    def _tokens(self) -> list[CelToken]:
        found: list[CelToken] = []
        at, source = 0, self.source
        while at < len(source):
            match = _TOKEN.match(source, at)
            if match is None:
                end = len(source) if source[at] in "\"'" else min(at + (2 if source[at] in "=&|" else 1), len(source))
                self.issues.append((at, f"Syntax error: token recognition error at: '{source[at:end]}'"))
                if len(self.issues) > _MOST_ISSUES:
                    raise CelSyntaxError(self.issues)
                at = end
                continue
            if match.lastgroup != "space":
                found.append(CelToken(str(match.lastgroup), match.group(), at))
            at = match.end()
        found.append(CelToken("end", _END, len(source)))
        return found

    def parse(self) -> Expr:
        expr = self._expr()
        token = self.peek
        if token.kind != "end":
            what = "extraneous" if self.tokens[self.next + 1].kind == "end" else "mismatched"
            raise self._failure(token, f"Syntax error: {what} input '{token.text}' expecting <EOF>")
        if self.issues:
            raise CelSyntaxError(self.issues)
        return expr

    @property
    def peek(self) -> CelToken:
        return self.tokens[self.next]

    def _take(self) -> CelToken:
        token = self.tokens[self.next]
        self.next += 1
        return token

    def _is(self, *texts: str) -> bool:
        return self.peek.kind in ("op", "ident") and self.peek.text in texts

    def _accept(self, text: str) -> CelToken | None:
        return self._take() if self._is(text) else None

    def _expect(self, text: str) -> CelToken:
        if self._is(text):
            return self._take()
        token = self.peek
        if text == ")":
            raise self._failure(token, f"Syntax error: missing ')' at '{token.text}'")
        wanted = f"{{'{text}', ','}}" if text in "]}" else f"'{text}'"
        raise self._failure(token, f"Syntax error: mismatched input '{token.text}' expecting {wanted}")

    def _failure(self, token: CelToken, message: str) -> CelSyntaxError:
        self.issues.append((token.at, message))
        return CelSyntaxError(self.issues)

    def _expr(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CelSyntaxError([*self.issues, (NOWHERE, TOO_DEEP)])
        condition = self._operation()
        if operator := self._accept("?"):
            yes = self._operation()
            self._expect(":")
            condition = Call(operator.at, "_?_:_", [condition, yes, self._expr()])
        self.depth -= 1
        return condition

    def _operation(self, level: int = 0) -> Expr:
        if level == len(_OPERATORS):
            return self._unary()
        left = self._operation(level + 1)
        while self._is(*_OPERATORS[level]):
            operator = self._take()
            left = Call(operator.at, _OPERATORS[level][operator.text], [left, self._operation(level + 1)])
        return left

    def _unary(self) -> Expr:
        if not self._is("!", "-"):
            return self._member(self._primary())
        operator = self._take()
        following = self.peek
        if operator.text == "-" and following.kind in ("int", "float"):
            self._take()
            return self._member(self._number(following, operator.at, -1))
        count = 1
        while self._is(operator.text):
            self._take()
            count += 1
        operand = self._member(self._primary())
        return operand if count % 2 == 0 else Call(operator.at, f"{operator.text}_", [operand])

    def _member(self, operand: Expr) -> Expr:
        while True:
            if dot := self._accept("."):
                operand = self._selection(dot, operand)
            elif bracket := self._accept("["):
                optional = self._accept("?") is not None
                index = self._expr()
                self._expect("]")
                operand = Call(bracket.at, "_[?_]" if optional else "_[_]", [operand, index])
            else:
                return operand

    def _selection(self, dot: CelToken, operand: Expr) -> Expr:
        optional = self._accept("?") is not None
        name = self._take()
        if name.kind == "quoted":
            return Select(dot.at, operand, name.text[1:-1], optional=optional)
        if name.kind != "ident":
            shown = name.text if name.kind != "end" else ""
            raise self._failure(name, f"Syntax error: no viable alternative at input '.{shown}'")
        if opened := (None if optional else self._accept("(")):
            return self._method(opened, operand, name.text)
        return Select(dot.at, operand, name.text, optional=optional)

    def _method(self, opened: CelToken, target: Expr, name: str) -> Expr:
        args = self._arguments()
        macro = self._macro(opened.at, target, name, args)
        return macro or Call(opened.at, name, args, target)

    def _macro(self, at: int, target: Expr, name: str, args: list[Expr]) -> Expr | None:
        if name in _OPTIONAL_MACROS and len(args) == 2:
            return Macro(at, name, target, [self._variable(args[0])], args[1:])
        if len(args) in _ONE_VARIABLE.get(name, ()):
            message = "argument is not an identifier" if name in ("map", "filter") else _NOT_A_NAME
            return Macro(at, name, target, [self._variable(args[0], message)], args[1:])
        if len(args) in _TWO_VARIABLES.get(name, ()):
            return Macro(at, name, target, [self._variable(args[0]), self._variable(args[1])], args[2:])
        return None

    def _variable(self, expr: Expr, message: str = _NOT_A_NAME) -> str:
        if not isinstance(expr, Ident):
            raise self._failure(CelToken("op", "", expr.at), message)
        return expr.name

    def _arguments(self) -> list[Expr]:
        return [self._expr() for _ in self._separated(")")]

    def _separated(self, close: str) -> Iterator[None]:
        """Once before each element of what commas separate and `close` ends."""
        while not self._is(close):
            yield
            if not self._accept(","):
                break
        self._expect(close)

    def _primary(self) -> Expr:
        token = self._take()
        if token.kind in ("int", "uint", "float"):
            return self._number(token, token.at, 1)
        if token.kind == "string":
            return self._string(token)
        if token.kind == "ident":
            return self._identifier(token)
        if token.text == "." and self.peek.kind == "ident":
            return self._identifier(self._take())
        if token.text == "(":
            expr = self._expr()
            self._expect(")")
            return expr
        if token.text == "[":
            return self._list(token.at)
        if token.text == "{":
            return self._map(token.at)
        raise self._failure(token, self._no_operand(token))

    def _no_operand(self, token: CelToken) -> str:
        """The error for a token that is no operand: a stray token when an operand follows it."""
        following = self.tokens[self.next] if token.kind != "end" else token
        starts = following.kind not in ("op", "end") or following.text in ("(", "[", "{", "-", "!", ".")
        before = self.tokens[self.next - 2].text if self.next > 1 else ""
        is_call = before == "(" and self.next > 2 and self.tokens[self.next - 3].kind == "ident"
        wanted = _START_OPTIONAL if before == "[" else _START_OR_CLOSE if is_call else _START
        return f"Syntax error: {'extraneous' if starts else 'mismatched'} input '{token.text}' expecting {wanted}"

    def _identifier(self, token: CelToken) -> Expr:
        if token.text in ("true", "false"):
            return Literal(token.at, token.text == "true")
        if token.text == "null":
            return Literal(token.at, None)
        if token.text == "in":
            raise self._failure(token, f"Syntax error: extraneous input 'in' expecting {_START}")
        if token.text in RESERVED:
            self.issues.append((token.at, f"reserved identifier: {token.text}"))
        if opened := self._accept("("):
            return self._global(opened, token.text)
        if self._is("{"):
            brace = self._take()
            raise self._failure(brace, f"undeclared reference to '{token.text}' (in container '')")
        return Ident(token.at, token.text)

    def _global(self, opened: CelToken, name: str) -> Expr:
        args = self._arguments()
        if name == "has" and len(args) == 1:
            tested = args[0]
            if not isinstance(tested, Select) or tested.optional:
                raise self._failure(CelToken("op", "", tested.at), "invalid argument to has() macro")
            return Select(opened.at, tested.operand, tested.field, test=True)
        return Call(opened.at, name, args)

    def _list(self, at: int) -> Expr:
        items: list[Expr] = []
        optional: set[int] = set()
        for _ in self._separated("]"):
            if self._accept("?"):
                optional.add(len(items))
            items.append(self._expr())
        return ListLiteral(at, items, frozenset(optional))

    def _map(self, at: int) -> Expr:
        entries: list[tuple[Expr, Expr]] = []
        optional: set[int] = set()
        for _ in self._separated("}"):
            if self._accept("?"):
                optional.add(len(entries))
            key = self._expr()
            self._expect(":")
            entries.append((key, self._expr()))
        return MapLiteral(at, entries, frozenset(optional))

    def _number(self, token: CelToken, at: int, sign: int) -> Expr:
        text = token.text
        if token.kind == "float":
            return Literal(at, sign * float(text))
        if token.kind == "uint":
            value = _read_number(text[:-1])
            if value >= 2**64:
                raise self._failure(token, "invalid uint literal")
            return Literal(at, Uint(value))
        value = sign * _read_number(text)
        if not -(2**63) <= value < 2**63:
            self.issues.append((at, "invalid int literal"))
        return Literal(at, value)

    def _string(self, token: CelToken) -> Expr:
        try:
            return Literal(token.at, unquote(token.text))
        except LiteralError as problem:
            raise self._failure(token, str(problem)) from None


def _read_number(text: str) -> int:
    return int(text, 16) if text.startswith("0x") else read_int(text)
