"""Certificate signing requests: immutable questions, answered by conditions (approval) and a certificate (status).

The requester's identity is the server's to write. Approved and Denied exclude each other and, with Failed, never go
away. Only the approval subresource sets the first two; only status sets the certificate, and only once.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.godiff import difference
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_dns1123_label, is_dns1123_subdomain, size
from jobrelay.kinds.context import request_time, requester
from jobrelay.kinds.core.checks import unsupported_label
from jobrelay.kinds.core.tlspair import pem_blocks
from jobrelay.kinds.generation import keep_spec, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy, metadata_fields

USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip
LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
MIN_SECONDS: Final = 600
_FINAL: Final = ("Approved", "Denied", "Failed")
_DECISIONS: Final = ("Approved", "Denied")
_SPEC: Final = Path("spec")
_CONDITIONS: Final = Path("status.conditions")
_CERTIFICATE: Final = Path("status.certificate")
_EXCLUSIVE: Final = "Approved and Denied conditions are mutually exclusive"


def prepare_create(request: Obj) -> None:
    spec, who = request["spec"], requester()
    for name, value in (
        ("username", who.username),
        ("uid", who.uid),
        ("groups", list(who.groups)),
        ("extra", {key: list(values) for key, values in who.extra.items()}),
    ):
        spec.pop(name, None)
        if value:
            spec[name] = value
    request["status"] = {}


def prepare_update(new: Obj, old: Obj) -> None:
    keep_spec(new, old)
    keep_status(new, old)


def prepare_status(new: Obj, old: Obj) -> None:
    keep_spec(new, old)
    for kind in _DECISIONS:
        indexes = [[i for i, c in enumerate(_conditions(r)) if c.get("type") == kind] for r in (new, old)]
        if len(indexes[0]) == len(indexes[1]):
            for here, there in zip(*indexes, strict=True):
                new["status"]["conditions"][here] = copy.deepcopy(_conditions(old)[there])
    _fill_times(new, old)


def prepare_approval(new: Obj, old: Obj) -> None:
    _fill_times(new, old)
    conditions = _conditions(new)
    keep_spec(new, old)
    new["status"] = {key: value for key, value in old["status"].items() if key != "conditions"}
    if conditions:
        new["status"]["conditions"] = conditions


def _conditions(request: Obj) -> list[dict[str, Any]]:
    return request["status"].get("conditions") or []


def _fill_times(new: Obj, old: Obj) -> None:
    now = request_time()
    for condition in _conditions(new):
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
        if not condition.get("lastTransitionTime"):
            same = [
                c
                for c in _conditions(old)
                if (c.get("type"), c.get("status")) == (condition.get("type"), condition.get("status"))
            ]
            condition["lastTransitionTime"] = next(filter(None, (c.get("lastTransitionTime") for c in same)), now)


def request_error(request: str | None) -> str:
    """What is wrong with the PEM block of a request, given in base64, or an empty text."""
    blocks = pem_blocks(base64.b64decode(request or ""))
    if not blocks or blocks[0][0] != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        parsed = x509.load_der_x509_csr(blocks[0][1])
    except (ValueError, UnsupportedAlgorithm):
        return _asn1_error(blocks[0][1])
    return (
        ""
        if parsed.is_signature_valid
        else "x509: invalid signature: parent certificate cannot sign this kind of certificate"
    )


def _asn1_error(der: bytes) -> str:
    head = 2 + (der[1] & 0x7F if len(der) > 1 and der[1] & 0x80 else 0)
    if len(der) < head:
        return "asn1: syntax error: truncated tag or length"
    length = der[1] if head == 2 else int.from_bytes(der[2:head], "big")
    if len(der) < head + length:
        return "asn1: syntax error: data truncated"
    return "asn1: structure error: sequence tag mismatch"


def certificate_error(certificate: str | None) -> str:
    """What is wrong with an issued chain, given in base64, or an empty text."""
    data = base64.b64decode(certificate or "")
    if not data:
        return ""
    blocks = pem_blocks(data)
    for kind, body in blocks:
        if kind != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {field.go_quote(kind)}"
        try:
            x509.load_der_x509_certificate(body)
        except (ValueError, UnsupportedAlgorithm):
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def validate_signer_name(name: str, path: Path) -> list[FieldError]:
    """`example.com/signer-name`."""
    if not name:
        return [field.required(path)]
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [field.invalid(path, name, detail)]
    errors = [field.too_long(path, 253)] if size(domain) > 253 else []
    errors += _first_bad_label(domain, is_dns1123_label, path)
    if "." not in domain:
        errors.append(field.invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    errors += _first_bad_label(rest, is_dns1123_subdomain, path)
    return [*errors, field.too_long(path, 571)] if size(name) > 571 else errors


def _first_bad_label(text: str, check: Callable[[str], list[str]], path: Path) -> list[FieldError]:
    for label in text.split("."):
        if problems := check(label):
            return [
                field.invalid(path, text, f"validating label {field.go_quote(label)}: {problem}")
                for problem in problems
            ]
    return []


def validate(request: Obj, old: Obj | None = None) -> list[FieldError]:
    """All of a request; what an old one already has is not complained about."""
    spec, before = request["spec"], (old or {}).get("spec") or {}
    errors = validate_object_meta(request["metadata"], namespaced=False, name_fn=lambda name, prefix: [])
    if problem := request_error(spec.get("request")):
        errors.append(field.invalid(_SPEC.child("request"), spec.get("request"), problem))
    usages, old_usages, at = spec.get("usages") or [], before.get("usages") or [], _SPEC.child("usages")
    if not usages:
        errors.append(field.required(at))
    if set(old_usages) <= set(USAGES):
        errors += [
            field.not_supported(at.index(i), usage, USAGES) for i, usage in enumerate(usages) if usage not in USAGES
        ]
    if len(set(old_usages)) == len(old_usages):
        errors += [field.duplicate(at.index(i), usage) for i, usage in enumerate(usages) if usage in usages[:i]]
    signer, at = spec.get("signerName", ""), _SPEC.child("signerName")
    if signer == LEGACY_SIGNER and before.get("signerName") != LEGACY_SIGNER:
        errors.append(field.invalid(at, signer, "the legacy signerName is not allowed via this API version"))
    else:
        errors += validate_signer_name(signer, at)
    seconds = spec.get("expirationSeconds", MIN_SECONDS)
    if seconds < MIN_SECONDS:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(field.invalid(_SPEC.child("expirationSeconds"), seconds, text))
    errors += _validate_conditions(request, old)
    return errors + _validate_certificate(request, old)


def _validate_certificate(request: Obj, old: Obj | None) -> list[FieldError]:
    chain = request["status"].get("certificate")
    before = old["status"].get("certificate") if old is not None else None
    if old is not None and (chain == before or certificate_error(before)):
        return []
    problem = certificate_error(chain)
    return [field.invalid(_CERTIFICATE, "<certificate data>", problem)] if problem else []


def _validate_conditions(request: Obj, old: Obj | None) -> list[FieldError]:
    errors: list[FieldError] = []
    before = [condition.get("type", "") for condition in _conditions(old)] if old is not None else []
    seen: set[str] = set()
    for i, condition in enumerate(_conditions(request)):
        kind, status, at = condition.get("type", ""), condition.get("status", ""), _CONDITIONS.index(i)
        if not kind and "" not in before:
            errors.append(field.required(at.child("type")))
        allowed = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
        if not status:
            errors.append(field.required(at.child("status")))
        elif status not in allowed:
            errors.append(field.not_supported(at.child("status"), status, allowed))
        if kind in _DECISIONS and set(_DECISIONS) - {kind} <= seen and not set(_DECISIONS) <= set(before):
            errors.append(field.invalid(_CONDITIONS, kind, _EXCLUSIVE))
        if kind in seen and len(set(before)) == len(before):
            errors.append(field.duplicate(at.child("type"), kind))
        seen.add(kind)
    return errors


def validate_change(new: Obj, old: Obj, *, approving: bool = False, issuing: bool = False) -> list[FieldError]:
    errors = validate(new, old)
    found = {kind: [[c for c in _conditions(r) if c.get("type") == kind] for r in (new, old)] for kind in _FINAL}
    for kind, (after, before) in found.items():
        if len(after) < len(before):
            detail = f"updates may not remove a condition of type {field.go_quote(kind)}"
            errors.append(field.forbidden(_CONDITIONS, detail))
    for kind in () if approving else _DECISIONS:
        after, before = found[kind]
        if len(after) > len(before):
            detail = f"updates may not add a condition of type {field.go_quote(kind)}"
            errors.append(field.forbidden(_CONDITIONS, detail))
        elif len(after) == len(before) and after != before:
            shown = difference(before, after, "[io.k8s.api.certificates.v1.CertificateSigningRequestCondition")
            detail = f"updates may not modify a condition of type {field.go_quote(kind)}\n{shown}"
            errors.append(field.forbidden(_CONDITIONS, detail))
    chains = [request["status"].get("certificate") or "" for request in (new, old)]
    if chains[0] != chains[1]:
        if not issuing:
            errors.append(field.forbidden(_CERTIFICATE, "updates may not set certificate content"))
        elif chains[1]:
            errors.append(field.forbidden(_CERTIFICATE, "updates may not modify existing certificate content"))
    return errors + validate_object_meta_update(new["metadata"], old["metadata"])


def fields(request: Obj) -> dict[str, str]:
    return metadata_fields(request) | {"spec.signerName": request["spec"].get("signerName", "")}


STRATEGIES: Final = {
    ("certificates.k8s.io", "certificatesigningrequests"): Strategy(
        prepare_create=prepare_create,
        validate_create=validate,
        update=UpdateStrategy(prepare_update, validate_change),
        subresources={
            "status": UpdateStrategy(prepare_status, lambda new, old: validate_change(new, old, issuing=True)),
            "approval": UpdateStrategy(prepare_approval, lambda new, old: validate_change(new, old, approving=True)),
        },
        fields=fields,
        field_labels=frozenset({"metadata.name", "spec.signerName"}),
        unsupported_field=unsupported_label,
        reset_fields={
            "": (("spec",), ("status",)),
            "status": (("spec",), ("status", "conditions")),
            "approval": (("spec",), ("status", "certificate")),
        },
    )
}
