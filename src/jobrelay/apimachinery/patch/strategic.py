"""Strategic merge patches: merge patches that know the types, so that lists of containers merge by name.

The type table says for each list whether it merges and by which key. Directives steer the rest: `$patch: delete|replace`
in an object, `$retainKeys`, `$deleteFromPrimitiveList/<field>`, `$setElementOrder/<field>`. Directives inside of values that
are wholly new are not understood by the real server either: objects with `$patch` vanish, other directives stay as
unknown fields. Errors that the real server did not foresee are 500s.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.decode import json_kind
from jobrelay.apimachinery.patch import order
from jobrelay.apimachinery.patch.errors import PatchError, bad_request, failure, go_format, go_type, unprocessable
from jobrelay.apimachinery.types import Field, Type

PATCH: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_PREFIX: Final = "$deleteFromPrimitiveList"
ORDER_PREFIX: Final = "$setElementOrder"
_GO_KINDS: Final = {"map": "map", "list": "slice", "bytes": "slice", "s": "string", "b": "bool", "f64": "float64"}

Object = dict[str, Any]


def check_strategic_patch(body: Any) -> Object:
    """The patch of a decoded body."""
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise bad_request(f"json: cannot unmarshal {json_kind(body)} into Go value of type map[string]interface {{}}")
    return body


def apply_strategic_patch(document: Object, patch: Object, type_: Type) -> Object:
    """The patched document; it still has to go through `convert` and `decode`."""
    return _merge_map(document, patch, type_)


def _merge_map(original: Object, patch: Object, type_: Type) -> Object:
    if PATCH in patch:
        return _whole_map(patch)
    merged = dict(original)
    rest = dict(patch)
    _retain_keys(merged, rest)
    for key in [key for key in rest if key.startswith(ORDER_PREFIX)]:
        _merge_in_order(merged, rest, key, rest.pop(key), type_)
    for key, value in rest.items():
        deletes = key.startswith(DELETE_PREFIX)
        name = _directive_field(key, "invalid patch format of primitive list") if deletes else key
        if value is None:
            merged.pop(name, None)
        elif not _same_shape(merged.get(name), value):
            if not deletes:
                _take(merged, name, value)
        else:
            merged[name] = _merge_value(merged[name], value, type_, name, deletes=deletes)
    return merged


def _merge_value(current: Any, value: Any, type_: Type, name: str, *, deletes: bool) -> Any:
    field = _lookup(type_, name)
    if isinstance(value, dict):
        return value if "replace" in field.strategies else _merge_map(current, value, field.type)
    elem = _elem(field.type)
    if "merge" not in field.strategies and not deletes:
        return value
    return _merge_list(current, value, elem, field.merge_key, deletes=deletes)


def _whole_map(patch: Object) -> Object:
    directive = patch[PATCH]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != PATCH}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _unknown_directive(directive: Any, where: Object) -> PatchError:
    return failure(f"unknown patch type: {go_format(directive)} in map: {go_format(where)}")


def _retain_keys(merged: Object, patch: Object) -> None:
    """Drops what `$retainKeys` does not name; the patch may not set what it drops."""
    if RETAIN_KEYS not in patch:
        return
    kept = patch.pop(RETAIN_KEYS)
    wrong = bad_request("invalid patch format of retainKeys")
    if not isinstance(kept, list):
        raise wrong
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETE_PREFIX, ORDER_PREFIX)) and key not in kept:
            raise wrong
    for key in [key for key in merged if key not in kept]:
        del merged[key]


def _same_shape(current: Any, value: Any) -> bool:
    return (isinstance(current, dict) and isinstance(value, dict)) or (
        isinstance(current, list) and isinstance(value, list)
    )


def _take(merged: Object, name: str, value: Any) -> None:
    if isinstance(value, dict) and PATCH in value:
        merged.pop(name, None)
    else:
        merged[name] = _plain(value)


def _plain(value: Any) -> Any:
    """A new value without nulls and without the objects that carry a `$patch` directive."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None and not _special(item)}
    return [_plain(item) for item in value if not _special(item)] if isinstance(value, list) else value


def _special(value: Any) -> bool:
    return isinstance(value, dict) and PATCH in value


def _directive_field(key: str, wrong: str) -> str:
    prefix, slash, name = key.partition("/")
    if not slash or prefix not in (DELETE_PREFIX, ORDER_PREFIX):
        raise bad_request(wrong)
    return name


def _lookup(type_: Type, name: str) -> Field:
    if type_.kind not in ("struct", "union") and type_.kind in _GO_KINDS:
        kind = _GO_KINDS[type_.kind]
        raise failure(f"merging an object in json but data type is not struct, instead is: {kind}")
    field = type_.fields.get(name) if type_.kind == "struct" else None
    if field is None:
        struct = type_.go.rpartition(".")[2]
        raise failure(f'unable to find api field in struct {struct} for the json field "{name}"')
    return field


def _elem(type_: Type) -> Type:
    if type_.kind == "list" and type_.elem is not None:
        return type_.elem
    if type_.pointer:
        return type_
    raise failure("expected slice or array type, but got: struct")


def _merge_list(original: list[Any], patch: list[Any], elem: Type, key: str, *, deletes: bool = False) -> list[Any]:
    if not original and not patch:
        return original
    if not _elements_are_maps(original, patch):
        if deletes:
            removed = {order.identity(item) for item in patch}
            return [item for item in original if order.identity(item) not in removed]
        merged = order.unique(original + patch)
        return order.arrange(merged, patch, original, "")
    if not key:
        kind = "struct" if elem.kind in ("struct", "union") else _GO_KINDS.get(elem.kind, "struct")
        raise failure(f"cannot merge lists without merge key for {kind}")
    base, plain = _apply_directives(original, patch, key)
    merged = list(base)
    places: dict[order.Identity, int] = {}
    for place, item in enumerate(merged):
        if isinstance(item, dict) and key in item:
            places.setdefault(order.identity(item[key]), place)
    for item in plain:
        place = places.setdefault(order.identity(order.key_of(item, key)), len(merged))
        if place == len(merged):
            merged.append(item)
        else:
            merged[place] = _merge_map(merged[place], item, elem)
    return order.arrange(merged, plain, base, key)


def _apply_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """The list without the elements that the patch deletes, and the elements of the patch without directives."""
    plain: list[Any] = []
    replace = False
    for item in patch:
        directive = item.get(PATCH) if PATCH in item else None
        if PATCH not in item:
            plain.append(item)
        elif directive == "delete":
            value = order.key_of(item, key)
            original = [old for old in original if not order.has_key(old, key, value)]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise failure("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, item)
    return (plain, []) if replace else (original, plain)


def _elements_are_maps(*lists: list[Any]) -> bool:
    """Whether the elements are objects; all must have the same type, and none may be a list."""
    types = {go_type(item) for items in lists for item in items}
    if not types:
        raise failure("no elements in any of the given slices")
    first = next(item for items in lists for item in items)
    if isinstance(first, list):
        raise unprocessable()
    if len(types) > 1:
        raise failure(f"list element types are not identical: {go_format(list(lists))}")
    return isinstance(first, dict)


def _merge_in_order(merged: Object, patch: Object, directive: str, wanted: Any, type_: Type) -> None:
    """Merges one list as `$setElementOrder` says: its order first, then the live one."""
    wrong = "invalid patch format of setElementOrder list"
    if not isinstance(wanted, list):
        raise failure(f"expected a []interface {{}}, but received a {go_type(wanted)}")
    name = _directive_field(directive, wrong)
    for holder in (merged, patch):
        if name in holder and not isinstance(holder[name], list):
            raise failure(f"expected a []interface {{}}, but received a {go_type(holder[name])}")
    field = _lookup(type_, name)
    elem, key = _elem(field.type), field.merge_key
    live, changes = merged.get(name), patch.pop(name, None)
    order.check_wanted(changes or [], wanted, key, PATCH)
    if live is None and changes is None:
        return
    result: list[Any] = live or []
    if changes is not None:
        merges = live is not None and "merge" in field.strategies
        result = _merge_list(result, changes, elem, key) if merges else _plain(changes) if live is None else changes
    _elements_are_maps(live or [], changes or [])
    merged[name] = order.arrange(result, wanted, live or [], key)
