"""RFC 6902 JSON patches as the Kubernetes server applies them.

Where it differs from the RFC: `replace` on a missing key of an object adds it, negative indexes count from the end,
`copy` of a missing key copies null, text before the first slash of a pointer is ignored. Every operation that fails
makes the whole patch fail with the same answer; what is wrong with it is `PatchError.why`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.decode import json_kind
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.patch.errors import PatchError, bad_request, unprocessable

MAX_OPERATIONS: Final = 10_000
MAX_COPIED: Final = 3 * 1024 * 1024
_INDEX = re.compile(r"[+-]?[0-9]+")
_MISSING: Final = object()
_MISSING_VALUE: Final = "missing value"
_NO_CONTAINER: Final = {
    "add": 'doc is missing path: "{}"', "remove": 'doc is missing path: "{}"', "replace": "doc is missing path: {}",
    "move": "doc is missing destination path: {}", "copy": "doc is missing destination path: {}",
    "test": "is missing path: {}",
}  # fmt: skip


class _NoContainer(Exception):
    """Nothing that could hold a value is where a pointer leads to."""


class _BadKey(Exception):
    """The last token of a pointer fits nothing in its container."""


def check_json_patch(body: Any, *, strict: bool) -> tuple[list[Any], list[str]]:
    """The operations of a decoded body and what a strict reader would refuse in them.

    strict is whether the request's fieldValidation is Strict or Warn; only then members are checked.
    """
    if body is None:
        return [], []
    notes: list[str] = []
    whole = "[]handlers.jsonPatchOp" if strict else "jsonpatch.Patch"
    if not isinstance(body, list):
        raise _malformed(json_kind(body), f"Go value of type {whole}", strict=strict)
    for index, operation in enumerate(body):
        if operation is not None and not isinstance(operation, dict):
            one = "handlers.jsonPatchOp" if strict else "jsonpatch.Operation"
            raise _malformed(json_kind(operation), f"Go value of type {one}", strict=strict)
        if strict and operation:
            notes += _check_members(index, operation)
    if len(body) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(body)}"
        raise PatchError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
    return body, notes


def _check_members(index: int, operation: dict[str, Any]) -> list[str]:
    notes = []
    for name, value in operation.items():
        if name in ("op", "path", "from"):
            if value is not None and not isinstance(value, str):
                place = f"Go struct field jsonPatchOp.{name} of type string"
                raise _malformed(json_kind(value), place, strict=True)
        elif name != "value":
            notes.append(f'json patch unknown field "[{index}].{name}"')
    return notes


def _malformed(what: str, where: str, *, strict: bool) -> PatchError:
    return bad_request(f"{'error decoding patch: ' if strict else ''}json: cannot unmarshal {what} into {where}")


def apply_json_patch(document: Any, operations: list[Any]) -> Any:
    """The patched document; the given one is left as it is."""
    target = _Document(document)
    for operation in operations:
        name = operation.get("op") if isinstance(operation, dict) else None
        apply = _OPERATIONS.get(name)
        if apply is None or not isinstance(name, str):
            raise unprocessable(f"Unexpected kind: {name if isinstance(name, str) else 'unknown'}")
        try:
            apply(target, operation)
        except _NoContainer as error:
            raise unprocessable(_misplaced(name, operation, str(error))) from None
        except _BadKey as error:
            raise unprocessable(_misnamed(name, operation, str(error))) from None
    return target.root


def _misplaced(name: str, operation: dict[str, Any], pointer: str) -> str:
    source = name in ("move", "copy") and pointer == operation.get("from")
    text = "doc is missing from path: {}" if source else _NO_CONTAINER[name]
    return f"{name} operation does not apply: {text.format(pointer)}: {_MISSING_VALUE}"


def _misnamed(name: str, operation: dict[str, Any], why: str) -> str:
    if name == "replace":
        return f"replace operation does not apply: doc is missing key: {operation['path']}: {_MISSING_VALUE}"
    if name == "copy":
        return f"error in copy for from: '{operation['from']}': {why}"
    return f"error in {name} for path: '{operation['path']}': {why}"


class _Document:
    """A document of which containers are copied when they are first changed."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied = 0
        self._own: dict[int, Any] = {}

    def _owned(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        made = copy.copy(container)
        self._own[id(made)] = made
        return made

    def find(self, pointer: str) -> tuple[Any, str]:
        """The container that holds what a pointer names, now free to change, and the last token of the pointer."""
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")]
        if len(tokens) < 2:
            raise _NoContainer(pointer)
        node = self.root = self._owned(self.root)
        for token in tokens[1:-1]:
            child, step = _child(node, token)
            if not isinstance(child, (dict, list)):
                raise _NoContainer(pointer)
            child = node[step] = self._owned(child)
            node = child
        return node, tokens[-1]


def _child(container: Any, token: str) -> tuple[Any, Any]:
    """What a token refers to (None for nothing), and under which key or index."""
    try:
        step = _step(container, token)
    except _BadKey:
        return None, None
    return (None if step is _MISSING else container[step]), step


def _step(container: Any, token: str) -> Any:
    """The key or the index that a token refers to, or _MISSING when there is none."""
    if isinstance(container, dict):
        return token if token in container else _MISSING
    return _index(token, len(container))


def _index(token: str, size: int) -> int:
    """A token as an index of `size` places."""
    if not _INDEX.fullmatch(token):
        raise _BadKey(f'strconv.Atoi: parsing "{token}": invalid syntax')
    index = read_int(token)
    if not -size <= index < size:
        raise _BadKey(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + size if index < 0 else index


def _pointer(operation: dict[str, Any], name: str = "path") -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        op, given = (
            operation["op"],
            "operation missing path field: " if name == "path" else "operation, missing from field: ",
        )
        plain = name == "path" and op in ("add", "remove", "copy")
        raise unprocessable(f"{op} operation failed to decode {name}: {'' if plain else given}{_MISSING_VALUE}")
    return pointer


def _insert(target: _Document, pointer: str, value: Any) -> None:
    container, last = target.find(pointer)
    if isinstance(container, dict):
        container[last] = value
        return
    container.insert(len(container) if last == "-" else _index(last, len(container) + 1), value)


def _get(target: _Document, pointer: str) -> Any:
    container, token = target.find(pointer)
    step = _step(container, token)
    return None if step is _MISSING else container[step]


def _add(target: _Document, operation: dict[str, Any]) -> None:
    _insert(target, _pointer(operation), operation.get("value"))


def _remove(target: _Document, operation: dict[str, Any], name: str = "path") -> None:
    container, token = target.find(_pointer(operation, name))
    step = _step(container, token)
    if step is _MISSING:
        raise _BadKey(f"Unable to remove nonexistent key: {token}: {_MISSING_VALUE}")
    del container[step]


def _replace(target: _Document, operation: dict[str, Any]) -> None:
    pointer, value = _pointer(operation), operation.get("value")
    if pointer == "":
        if not isinstance(value, (dict, list)):
            raise unprocessable()
        target.root = value
        return
    container, token = target.find(pointer)
    step = _step(container, token)
    container[token if step is _MISSING else step] = value


def _move(target: _Document, operation: dict[str, Any]) -> None:
    value = _get(target, _pointer(operation, "from"))
    _remove(target, operation, "from")
    _insert(target, _pointer(operation), value)


def _copy(target: _Document, operation: dict[str, Any]) -> None:
    value = copy.deepcopy(_get(target, _pointer(operation, "from")))
    target.copied += len(msgspec.json.encode(value, enc_hook=float))
    if target.copied > MAX_COPIED:
        raise unprocessable()
    _insert(target, _pointer(operation), value)


def _test(target: _Document, operation: dict[str, Any]) -> None:
    pointer = _pointer(operation)
    found = target.root if pointer == "" else _get(target, pointer)
    if not same(found, operation.get("value")):
        raise unprocessable(f"testing value {pointer} failed: test failed")


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal, numbers as they are written: 1 is not 1.0, nor true."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return left == right
    return type(left) is type(right) and bool(left == right)


_OPERATIONS: Final[dict[Any, Callable[[_Document, dict[str, Any]], None]]] = {
    "add": _add, "remove": _remove, "replace": _replace, "move": _move, "copy": _copy, "test": _test,
}  # fmt: skip
