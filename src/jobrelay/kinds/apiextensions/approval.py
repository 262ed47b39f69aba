"""The API approval annotation that CustomResourceDefinitions in Kubernetes' own groups (`*.k8s.io`) need."""

from __future__ import annotations

import re
from typing import Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path, go_quote
from jobrelay.kinds.strategy import Obj

ANNOTATION: Final = "api-approved.kubernetes.io"
CONDITION: Final = "KubernetesAPIApprovalPolicyConformant"
_REASONS: Final = {
    "approved": "ApprovedAnnotation", "bypassed": "UnapprovedAnnotation", "missing": "MissingAnnotation",
    "invalid": "InvalidAnnotation",
}  # fmt: skip


def is_protected(crd: Obj) -> bool:
    return re.search(r"(^|\.)(k8s|kubernetes)\.io$", crd["spec"].get("group", "")) is not None


def state(crd: Obj) -> tuple[str, str]:
    """approved, bypassed, missing or invalid; and the sentence that goes with it."""
    text = (crd["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    required = f'protected groups must have approval annotation "{ANNOTATION}"'
    link = ", see https://github.com/kubernetes/enhancements/pull/1111"
    if not text:
        return "missing", required + link
    if text.startswith("unapproved"):
        return "bypassed", f"not approved: {go_quote(text)}"
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://[^/\s]", text):
        return "approved", f"approved in {text}"
    return "invalid", f'{required} with either a URL or a reason starting with "unapproved"{link}'


def approval_errors(crd: Obj, old: Obj | None) -> list[FieldError]:
    """Only a change of the state is refused: what was let in stays in."""
    if not is_protected(crd):
        return []
    found, sentence = state(crd)
    if old is not None and state(old)[0] == found:
        return []
    path = Path("metadata.annotations").key(ANNOTATION)
    if found == "missing":
        return [field.required(path, sentence)]
    return [field.invalid(path, crd["metadata"]["annotations"][ANNOTATION], sentence)] if found == "invalid" else []


def approval_condition(crd: Obj) -> tuple[str, str, str] | None:
    """The status, reason and message of the condition; None for groups that need no approval."""
    if not is_protected(crd):
        return None
    found, sentence = state(crd)
    return "True" if found == "approved" else "False", _REASONS[found], sentence
