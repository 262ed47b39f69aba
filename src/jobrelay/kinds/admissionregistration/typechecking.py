"""Checks the expressions of a policy against the types of the kinds that it is about, as far as these are named.

What is found are warnings in the policy's status: an expression may still be right, for objects of other kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from jobrelay.apimachinery.cel.checker import CompileError
from jobrelay.apimachinery.cel.types import CelType
from jobrelay.apimachinery.schema import GroupVersionKind
from jobrelay.kinds.admissionregistration.expressions import ExpressionCompiler
from jobrelay.kinds.strategy import Obj

_MOST: Final = 10  # kinds of one rule

KindOf = Callable[[str, str, str], str | None]  # the kind of a group, a version and a resource
TypeOf = Callable[[GroupVersionKind], CelType | None]


def checked_kinds(spec: Obj, kind_of: KindOf) -> list[GroupVersionKind]:
    """The kinds that the rules name; rules with wildcards for groups or versions name none."""
    found: set[GroupVersionKind] = set()
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        if any("*" in name for field in ("apiGroups", "apiVersions") for name in rule.get(field) or ()):
            continue
        named = list(_named(rule, kind_of))[:_MOST]
        found.update(named)
        if len(named) == _MOST:
            break
    return sorted(found)


def _named(rule: Obj, kind_of: KindOf) -> Iterable[GroupVersionKind]:
    resources = sorted(name for name in rule.get("resources") or () if "*" not in name and "/" not in name)
    for group in sorted(rule.get("apiGroups") or ()):
        for version in sorted(rule.get("apiVersions") or ()):
            for resource in resources:
                if kind := kind_of(group, version, resource):
                    yield GroupVersionKind(group, version, kind)


def expression_warnings(spec: Obj, kind_of: KindOf, type_of: TypeOf) -> list[dict[str, Any]]:
    """The ExpressionWarnings of a policy."""
    known = [(kind, type_) for kind in checked_kinds(spec, kind_of) if (type_ := type_of(kind)) is not None]
    params = type_of(_param_kind(spec["paramKind"])) if spec.get("paramKind") else None
    compilers = [(kind, _compiler(spec, type_, params)) for kind, type_ in known]
    found = []
    for at, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            if source := validation.get(field):
                texts = [text for kind, compiler in compilers if (text := _problem(kind, compiler, source))]
                if texts:
                    found.append({"fieldRef": f"spec.validations[{at}].{field}", "warning": "\n".join(texts)})
    return found


def _param_kind(given: Obj) -> GroupVersionKind:
    group, _, version = given.get("apiVersion", "").rpartition("/")
    return GroupVersionKind(group, version, given.get("kind", ""))


def _compiler(spec: Obj, objects: CelType, params: CelType | None) -> ExpressionCompiler:
    more = {"parameters": params} if params is not None else {}
    made = ExpressionCompiler(params=params is not None, composed=True, objects=objects, **more)
    for variable in spec.get("variables") or ():
        try:
            made.declare(variable["name"], variable["expression"])
        except CompileError:
            continue
    return made


def _problem(kind: GroupVersionKind, compiler: ExpressionCompiler, source: str) -> str:
    try:
        compiler.compile(source)
    except CompileError as error:
        return f"{kind}: {error}\n"
    return ""
