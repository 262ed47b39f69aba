"""The patch of a mutating webhook, applied to the object that it was shown."""

from __future__ import annotations

import copy

from jobrelay.apimachinery import gojson
from jobrelay.apimachinery.apply import ManagedFieldsError, check_managed_fields
from jobrelay.apimachinery.decode import DecodeError, json_kind
from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.patch import PatchError, apply_json_patch
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.cluster.apiserver.admission.webhooks.answers import AdmissionResponse, CallFailed
from jobrelay.cluster.apiserver.admission.webhooks.subject import Subject
from jobrelay.cluster.apiserver.registrations.webhooks import Invocation
from jobrelay.kinds.strategy import Obj

_BAD_MANAGED_FIELDS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: "
)


def apply(verdict: AdmissionResponse, invocation: Invocation, subject: Subject) -> bool:
    """Changes the new object in place; returns whether anything is different. Raises CallFailed or the refusal."""
    operations = _operations(verdict.patch)
    if not operations:
        return False
    shown = subject.in_version(subject.new, invocation.served)
    if shown is None:
        name = go_quote(invocation.webhook.name)
        raise errors.internal(
            f"admission webhook {name} attempted to modify the object, which is not supported for this operation"
        )
    if verdict.patch_type != "JSONPatch":
        raise CallFailed(f"unsupported patch type {go_quote(verdict.patch_type)}")
    try:
        patched = copy.deepcopy(apply_json_patch(shown, operations))
        made = subject.decode(patched, invocation.served)
    except PatchError as error:
        raise errors.internal(error.why) from None
    except DecodeError as error:
        raise errors.internal(str(error)) from None
    if made == shown:
        return False
    _put_back(subject, subject.from_version(made, invocation.served))
    return True


def _operations(patch: bytes) -> list[object]:
    if not patch:
        return []
    try:
        found = gojson.loads(patch)
    except gojson.JsonError as error:
        raise _undecodable(str(error)) from None
    if found is None:
        return []
    if not isinstance(found, list):
        raise _undecodable(f"json: cannot unmarshal {json_kind(found)} into Go value of type jsonpatch.Patch")
    for operation in found:
        if operation is not None and not isinstance(operation, dict):
            kind = json_kind(operation)
            raise _undecodable(f"json: cannot unmarshal {kind} into Go value of type jsonpatch.Operation")
    return found


def _undecodable(why: str) -> CallFailed:
    return CallFailed(f"received undecodable patch in webhook response: {why}")


def _put_back(subject: Subject, made: Obj) -> None:
    admission = subject.admission
    if admission.view is not None:
        admission.view.put_back(made, admission.new)
        return
    admission.new.clear()
    admission.new.update(made)


def prune(admission: AdmissionRequest) -> None:
    """Removes what webhooks have added to a custom resource and its schema does not know."""
    if admission.served.custom is None or admission.subresource not in ("", "status"):
        return
    try:
        made = admission.served.decode(admission.new, None)
    except DecodeError as error:
        raise errors.internal(str(error)) from None
    admission.new.clear()
    admission.new.update(made)


def keep_managed_fields(admission: AdmissionRequest, before: list[object] | None) -> None:
    """Undoes changes of managedFields that make them invalid, with a warning."""
    metadata = admission.new.get("metadata")
    if metadata is None:
        return
    try:
        check_managed_fields(metadata.get("managedFields"))
    except ManagedFieldsError as error:
        metadata["managedFields"] = before
        admission.request.warn(f"{_BAD_MANAGED_FIELDS}{error}")
