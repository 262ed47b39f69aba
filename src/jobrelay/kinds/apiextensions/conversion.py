"""Custom resources between versions: the version that an object is stored in, and the answers of conversion webhooks.

An object is stored in the storage version of the time when it was written, which the definition may change later. Where
a definition has several versions, stored objects say which one it was, in a field of their metadata that no client can
write and none sees.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any, Final

from jobrelay.apimachinery import field, gojson, yaml
from jobrelay.apimachinery.field import Path, go_quote
from jobrelay.apimachinery.meta import validate_annotations, validate_labels
from jobrelay.kinds.apiextensions.objects import CustomDecodeError, plain_numbers, type_problem
from jobrelay.kinds.strategy import Obj

_STORED_AS: Final = "storedAs"
_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "ConversionReview"
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_GO_TYPES: Final = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64"}


class ConversionError(Exception):
    """An object that cannot be converted; the text is the server's message."""


def marked(obj: Obj, version: str) -> Obj:
    """An object as it is stored: with the name of its version."""
    return {**obj, "metadata": {**obj["metadata"], _STORED_AS: version}}


def unmarked(obj: Obj, default: str) -> tuple[Obj, str]:
    """A stored object without the name of its version, and that name."""
    metadata = dict(obj["metadata"])
    version = metadata.pop(_STORED_AS, default)
    return {**obj, "metadata": metadata}, version


def stored_version(obj: Obj, default: str) -> str:
    """The version that a stored object is in."""
    return str(obj["metadata"].get(_STORED_AS, default))


# Conversion reviews.


def gvk(obj: Obj) -> str:
    """The version and kind of an object as the server prints them."""
    return f"{obj.get('apiVersion', '')}, Kind={obj.get('kind', '')}"


def review(objects: Sequence[Obj], api_version: str, uid: str, understood: Sequence[str]) -> Obj:
    """The review that asks a webhook for objects in a version, in the first form that both sides understand."""
    version = next((version for version in understood if version in _REVIEW_VERSIONS), None)
    if version is None:
        raise ConversionError("no supported conversion review versions")
    return {
        "kind": _KIND,
        "apiVersion": f"{_GROUP}/{version}",
        "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)},
        "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
    }


def converted(sent: Obj, body: bytes, media: str) -> list[Obj]:
    """The objects in a webhook's answer to a review, checked; raises ConversionError."""
    objects, wanted = sent["request"]["objects"], sent["request"]["desiredAPIVersion"]
    shown = f"conversion webhook for {gvk(objects[0])}"
    try:
        found = _objects(sent, body, media)
    except ConversionError as error:
        raise ConversionError(f"{shown} failed: {error}") from None
    if len(found) != len(objects):
        raise ConversionError(f"{shown} returned {len(found)} objects, expected {len(objects)}")
    return [_checked(before, after, wanted) for before, after in zip(objects, found, strict=True)]


def _objects(sent: Obj, body: bytes, media: str) -> list[Any]:
    answer = _answer(body, media)
    if problem := type_problem(answer, body):
        raise ConversionError(problem)
    _check_type(sent["apiVersion"], answer, body)
    response = answer.get("response")
    if not isinstance(response, dict):
        raise ConversionError("no response provided")
    uid, given = sent["request"]["uid"], response.get("uid") or ""
    if sent["apiVersion"] == f"{_GROUP}/v1" and given != uid:
        raise ConversionError(f"expected response.uid={go_quote(uid)}, got {go_quote(given)}")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        why = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
        raise ConversionError(result.get("message") or why)
    return response.get("convertedObjects") or []


def _answer(body: bytes, media: str) -> Any:
    """The value of a body: JSON, or anything that YAML can be where the webhook does not say that it is JSON."""
    try:
        if media.partition(";")[0].strip() != "application/json":
            return plain_numbers(yaml.load(body, []))
        return plain_numbers(gojson.loads(body))
    except gojson.JsonError as error:
        raise ConversionError(f"couldn't get version/kind; json parse error: {error}") from None
    except (CustomDecodeError, yaml.YamlError) as error:
        raise ConversionError(str(error)) from None


def _check_type(wanted: str, answer: Obj, body: bytes) -> None:
    given, kind = answer.get("apiVersion") or "", answer["kind"]
    if not given:
        raise ConversionError(f"Object 'apiVersion' is missing in '{body.decode('utf-8', 'replace')}'")
    if kind != _KIND or given not in [f"{_GROUP}/{version}" for version in _REVIEW_VERSIONS]:
        raise ConversionError(
            f'no kind "{kind}" is registered for version "{given}" in scheme "pkg/runtime/scheme.go:111"'
        )
    if given != wanted:
        one, other = (version.rpartition("/")[2] for version in (given, wanted))
        raise ConversionError(f"converting ({one}.{_KIND}) to ({other}.{_KIND}): unknown conversion")


def _checked(before: Obj, after: Any, wanted: str) -> Obj:
    """A converted object with the metadata of the original, apart from labels and annotations."""
    shown = f"conversion webhook for {gvk(before)} returned invalid"
    if not isinstance(after, dict) or not after.get("kind"):
        raise ConversionError(f"Object 'Kind' is missing in '{_text(after)}'")
    if after.get("apiVersion", "") != wanted:
        given = after.get("apiVersion", "")
        raise ConversionError(f"{shown} object at index 0: invalid groupVersion (expected {wanted}, received {given})")
    if after["kind"] != before["kind"]:
        raise ConversionError(
            f"{shown} object at index 0: invalid kind (expected {before['kind']}, received {after['kind']})"
        )
    original, given = before["metadata"], after.get("metadata")
    names = given if isinstance(given, dict) else {}
    for key, name in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if (one := original.get(key, "")) != (other := names.get(key, "")):
            raise ConversionError(f"{shown} object: must have the same {name}: {one} != {other}")
    try:
        return {**after, "metadata": _restored(original, after)}
    except ConversionError as error:
        raise ConversionError(f"{shown} metadata: {error}") from None


def _restored(original: Obj, after: Obj) -> Obj:
    if "metadata" not in after:
        raise ConversionError("missing metadata in converted object")
    if not isinstance(after["metadata"], dict):
        raise ConversionError(f"invalid metadata of type {_go_type(after['metadata'])} in converted object")
    metadata = copy.deepcopy(original)
    for key in ("labels", "annotations"):
        given = after["metadata"].get(key)
        if given is None:
            metadata.pop(key, None)
            continue
        if not isinstance(given, dict):
            raise ConversionError(f"invalid metadata.{key} of type {_go_type(given)} in converted object")
        for name, value in given.items():
            if not isinstance(value, str):
                what = f"must be a string, but is {_go_type(value)} in converted object"
                raise ConversionError(f"metadata.{key}[{name}] {what}")
        if given != (metadata.get(key) or {}):
            _check_names(key, given)
        metadata[key] = given
    return metadata


def _check_names(key: str, given: dict[str, str]) -> None:
    if key == "labels":
        found = validate_labels(given, Path("metadata.labels"))
    else:
        found = validate_annotations(given, Path("metadata.annotation"))
    if found:
        raise ConversionError(field.aggregate(found))


def _text(value: Any) -> str:
    """JSON as Go's programs write it."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _go_type(value: Any) -> str:
    return "<nil>" if value is None else _GO_TYPES.get(type(value), "float64")
