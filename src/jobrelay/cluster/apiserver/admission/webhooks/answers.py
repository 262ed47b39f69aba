"""What a webhook answers: an AdmissionReview with its verdict, or something that is none."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery import gojson, yaml
from jobrelay.apimachinery.decode import json_kind
from jobrelay.apimachinery.field import go_quote
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.admission.webhooks.review import Review
from jobrelay.cluster.apiserver.body import SCHEME
from jobrelay.cluster.apiserver.outbound import OutboundAnswer, OutboundError, refused

_KIND: Final = "Kind=AdmissionReview"
_OTHER_KINDS: Final = (
    ("admission.k8s.io/v1", "AdmissionReview"), ("admission.k8s.io/v1beta1", "AdmissionReview"), ("v1", "Status"),
)  # fmt: skip
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # not allowed in headers
_GO_TYPES: Final[dict[str, tuple[type, str]]] = {
    "uid": (str, "types.UID"), "allowed": (bool, "bool"), "patch": (str, "[]uint8"), "patchType": (str, "v1.PatchType"),
    "auditAnnotations": (dict, "map[string]string"), "warnings": (list, "[]string"), "status": (dict, "v1.Status"),
}  # fmt: skip


class CallFailed(Exception):
    """A webhook that could not be asked, or has not answered as it must; `code` is what metrics count it by."""

    def __init__(self, why: str, code: int = 503) -> None:
        super().__init__(why)
        self.code = code


class AdmissionResponse(NamedTuple):
    """The answer of a webhook; `patch` is JSON, if there is one."""

    allowed: bool
    status: Mapping[str, Any] | None = None
    patch: bytes = b""
    patch_type: str = ""
    warnings: tuple[str, ...] = ()


def read(answer: OutboundAnswer | OutboundError, review: Review, *, mutating: bool) -> AdmissionResponse:
    """The verdict in an answer; raises CallFailed."""
    response = _response(_decoded(answer), review)
    patch, patch_type = _patch(response), response.get("patchType")
    if review.version == "v1":
        if problem := _patch_problem(patch, patch_type, mutating=mutating):
            raise _invalid(problem)
    else:
        patch_type = "JSONPatch" if patch else None
    return AdmissionResponse(
        allowed=response.get("allowed") is True,
        status=response.get("status"),
        patch=patch if mutating else b"",
        patch_type=patch_type or "",
        warnings=tuple(text for text in map(str, response.get("warnings") or ()) if text and not _CONTROL.search(text)),
    )


def _decoded(answer: OutboundAnswer | OutboundError) -> Any:
    """The JSON of an answer."""
    if isinstance(answer, OutboundError):
        raise CallFailed(f"failed to call webhook: {answer}")
    if not 200 <= answer.status <= 206:
        raise CallFailed(f"failed to call webhook: {refused(answer)}", answer.status)
    if not answer.body:
        media = answer.headers.get("Content-Type") or "application/json"
        raise CallFailed(
            f"failed to call webhook: 0-length response with status code: {answer.status} and content type: {media}"
        )
    return _parsed(answer.body)


def _parsed(body: bytes) -> Any:
    """A body is JSON if it begins like an object, else YAML."""
    try:
        value = gojson.loads(body) if body.lstrip().startswith(b"{") else yaml.load(body, [])
        return {} if value is None else value
    except (gojson.JsonError, yaml.YamlError) as error:
        raise _undecodable(f"couldn't get version/kind; json parse error: {error}") from None


def _response(value: Any, review: Review) -> dict[str, Any]:
    """The `response` of an answer to a review."""
    if not isinstance(value, dict):
        raise _undecodable(
            "couldn't get version/kind; json parse error: json: cannot unmarshal "
            f'{json_kind(value)} into Go value of type struct {{ APIVersion string "json:\\"apiVersion,omitempty\\""; '
            'Kind string "json:\\"kind,omitempty\\"" }'
        )
    version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    _check_kind(version, kind, review)
    response = value.get("response")
    if response is None:
        raise _invalid("webhook response was absent")
    _check_types(response)
    if review.version == "v1":
        if (uid := response.get("uid") or "") != review.uid:
            raise _invalid(f"expected response.uid={go_quote(review.uid)}, got {go_quote(uid)}")
        if (version, kind) != ("admission.k8s.io/v1", "AdmissionReview"):
            shown = version if "/" in version else f"/{version}"
            raise _invalid(f"expected webhook response of admission.k8s.io/v1, {_KIND}, got {shown}, Kind={kind}")
    found: dict[str, Any] = response
    return found


def _check_kind(version: str, kind: str, review: Review) -> None:
    """Refuses objects of other kinds; what is not said is taken to be right at first."""
    wanted = f"admission.k8s.io/{review.version}"
    actual = (version or wanted, kind or "AdmissionReview")
    if actual == (wanted, "AdmissionReview"):
        return
    if actual in _OTHER_KINDS:
        given = f"{actual[0].rpartition('/')[2]}.{actual[1]}"
        raise _undecodable(f"converting ({given}) to ({review.version}.AdmissionReview): unknown conversion")
    raise _undecodable(f'no kind "{actual[1]}" is registered for version "{actual[0]}" in scheme "{SCHEME}"')


def _check_types(response: Any) -> None:
    if not isinstance(response, dict):
        raise _mistyped(response, "response", "v1.AdmissionResponse")
    for name, (type_, go) in _GO_TYPES.items():
        value = response.get(name)
        if value is not None and not isinstance(value, type_):
            raise _mistyped(value, f"response.{name}", go)


def _mistyped(value: Any, path: str, go: str) -> CallFailed:
    owner = "AdmissionReview" if path == "response" else "AdmissionResponse"
    return _undecodable(f"json: cannot unmarshal {json_kind(value)} into Go struct field {owner}.{path} of type {go}")


def _patch(response: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(response.get("patch") or "", validate=True)
    except (binascii.Error, ValueError):
        raise _undecodable("illegal base64 data at input byte 0") from None


def _patch_problem(patch: bytes, patch_type: str | None, *, mutating: bool) -> str:
    if not mutating and patch:
        return "validating webhook may not return response.patch"
    if not mutating and patch_type is not None:
        return "validating webhook may not return response.patchType"
    if patch and patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    if not patch and patch_type is not None:
        return "webhook returned response.patchType but not response.patch"
    return 'webhook returned invalid response.patchType of ""' if patch_type == "" else ""


def _invalid(why: str) -> CallFailed:
    return CallFailed(f"received invalid webhook response: {why}")


def _undecodable(why: str) -> CallFailed:
    return CallFailed(f"failed to call webhook: {why}")


class Denied(errors.ApiError):
    """A webhook has refused the request."""


def refusal(name: str, status: Mapping[str, Any] | None) -> Denied:
    """The answer to a request that a webhook has denied, with what it said of it."""
    given = status or {}
    code, message, reason = given.get("code") or 0, given.get("message") or "", given.get("reason") or ""
    denied = f"admission webhook {go_quote(name)} denied the request"
    said = message or reason
    return Denied(
        max(code, 400),
        reason,
        f"{denied}: {said}" if said else f"{denied} without explanation",
        details=given.get("details"),
    )
