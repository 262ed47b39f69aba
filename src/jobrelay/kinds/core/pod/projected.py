"""Checks on projected and downward API volumes, which lay several sources out in one directory."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import Path, forbidden, go_quote, invalid, not_supported, required, too_long
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import ANNOTATIONS_MAX, validate_label_selector
from jobrelay.apimachinery.names import (
    LABEL_MAX,
    SUBDOMAIN_MAX,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_domain_prefixed_key,
    name_is_dns_subdomain,
    size,
)
from jobrelay.kinds.core.pod.common import CORE, Errors, Fields, file_mode, invalid_each, local_non_reserved_path
from jobrelay.kinds.core.pod.env import VOLUME_FIELDS, validate_field_ref, validate_resource_ref

_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_DAY: Final = 24 * 3600
CONFLICT: Final = "conflicting duplicate paths"


def validate_key_to_path(item: Fields, path: Path) -> Errors:
    errors = [required(path.child(name)) for name in ("key", "path") if not item.get(name)]
    errors += local_non_reserved_path(item.get("path", ""), path.child("path"))
    return errors + file_mode(item.get("mode"), path.child("mode"))


def _downward_api_file(file: Fields, path: Path) -> Errors:
    errors = [] if file.get("path") else [required(path.child("path"))]
    errors += local_non_reserved_path(file.get("path", ""), path.child("path"))
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        errors += validate_field_ref(field, VOLUME_FIELDS, path.child("fieldRef"))
        if resource is not None:
            errors.append(
                invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
            )
    elif resource is not None:
        errors += validate_resource_ref(resource, path.child("resourceFieldRef"), volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + file_mode(file.get("mode"), path.child("mode"))


def validate_downward_api(source: Fields, path: Path) -> Errors:
    errors = file_mode(source.get("defaultMode"), path.child("defaultMode"))
    for file in source.get("items") or ():
        errors += _downward_api_file(file, path)
    return errors


def validate_projected(source: Fields, path: Path) -> Errors:
    errors = file_mode(source.get("defaultMode"), path.child("defaultMode"))
    taken: set[str] = set()
    for i, projection in enumerate(source.get("sources") or ()):
        errors += _validate_projection(projection, taken, path.child("sources").index(i), path)
    return errors


def _claim(where: str, taken: set[str], value: str, path: Path) -> Errors:
    """Notes a path as used; `value` is what the error shows when it was used before."""
    if where in taken:
        return [invalid(path, value, CONFLICT)]
    taken.add(where)
    return []


def _validate_projection(projection: Fields, taken: set[str], at: Path, path: Path) -> Errors:
    errors: Errors = []
    count = 0
    for name in ("secret", "configMap"):
        source = projection.get(name)
        if source is not None:
            count += 1
            errors += _projected_keys(source, taken, at.child(name), path)
    if (source := projection.get("downwardAPI")) is not None:
        count += 1
        for file in source.get("items") or ():
            errors += _downward_api_file(file, at.child("downwardAPI"))
            if file.get("path"):
                errors += _claim(file["path"], taken, file["path"], path)
    if (source := projection.get("serviceAccountToken")) is not None:
        count += 1
        errors += _projected_token(source, at.child("serviceAccountToken"), path)
    if (source := projection.get("clusterTrustBundle")) is not None:
        count += 1
        errors += _projected_trust_bundle(source, at.child("clusterTrustBundle"))
        errors += _claim(source.get("path", ""), taken, source.get("path", ""), path)
    if (source := projection.get("podCertificate")) is not None:
        count += 1
        errors += _projected_certificate(source, taken, at.child("podCertificate"), path)
    if count > 1:
        errors.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return errors


def _projected_keys(source: Fields, taken: set[str], at: Path, path: Path) -> Errors:
    name = source.get("name", "")
    errors = [] if name else [required(at.child("name"))]
    for i, item in enumerate(source.get("items") or ()):
        errors += validate_key_to_path(item, at.child("items").index(i))
        if item.get("path"):
            errors += _claim(item["path"], taken, name, path)
    return errors


def _projected_token(source: Fields, at: Path, path: Path) -> Errors:
    errors: Errors = []
    seconds = source.get("expirationSeconds", 0)
    if seconds < 600:
        errors.append(
            invalid(at.child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")
        )
    if seconds > 2**32:
        detail = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(at.child("expirationSeconds"), seconds, detail))
    if not source.get("path"):
        errors.append(required(path.child("path")))
    else:
        errors += local_non_reserved_path(source["path"], path.child("path"))
    return errors


def _projected_trust_bundle(source: Fields, at: Path) -> Errors:
    errors: Errors = []
    name, signer, selector = source.get("name"), source.get("signerName"), source.get("labelSelector")
    if name is not None and signer is not None:
        shown = struct_value(source, CORE + "ClusterTrustBundleProjection")
        errors.append(invalid(at, shown, "only one of name and signerName may be used"))
    elif name is not None:
        if not name:
            errors.append(required(at.child("name"), "must be a valid object name"))
        texts = [f"not a valid clustertrustbundlename: {text}" for text in _trust_bundle_name_errors(name)]
        errors += invalid_each(at.child("name"), name, texts)
        if selector is not None:
            detail = "labelSelector must be unset if name is specified"
            errors.append(invalid(at.child("labelSelector"), selector, detail))
    elif signer is not None:
        if not signer:
            errors.append(required(at.child("signerName"), "must be a valid signer name"))
        errors += validate_signer_name(signer, at.child("signerName"))
        errors += validate_label_selector(selector, at.child("labelSelector"))
    else:
        errors.append(required(at, "either name or signerName must be specified"))
    if not source.get("path"):
        errors.append(required(at.child("path")))
    return errors + local_non_reserved_path(source.get("path", ""), at.child("path"))


def _trust_bundle_name_errors(name: str) -> list[str]:
    return name_is_dns_subdomain(name.rpartition(":")[2], False)


def validate_signer_name(name: str, path: Path) -> Errors:
    """`domain/path`, as signers of certificates are called."""
    if not name:
        return [required(path)]
    segments = name.split("/")
    if len(segments) != 2:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, detail)]
    domain, rest = segments
    errors = [too_long(path, SUBDOMAIN_MAX)] if size(domain) > SUBDOMAIN_MAX else []
    for segment, check in ((domain, is_dns1123_label), (rest, is_dns1123_subdomain)):
        for label in segment.split("."):
            if texts := check(label):
                errors += [invalid(path, segment, f"validating label {go_quote(label)}: {text}") for text in texts]
                break
        if segment is domain and "." not in domain:
            errors.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    longest = SUBDOMAIN_MAX + 1 + SUBDOMAIN_MAX + LABEL_MAX + 1
    return errors + ([too_long(path, longest)] if size(name) > longest else [])


def _projected_certificate(source: Fields, taken: set[str], at: Path, path: Path) -> Errors:
    signer = source.get("signerName", "")
    errors = validate_signer_name(signer, at.child("signerName"))
    errors += _user_annotations(source.get("userAnnotations") or {}, at.child("userAnnotations"))
    if source.get("keyType", "") not in _KEY_TYPES:
        errors.append(not_supported(at.child("keyType"), source.get("keyType", ""), _KEY_TYPES))
    seconds = source.get("maxExpirationSeconds")
    if seconds is not None:
        domain = signer.partition("/")[0]
        most = _DAY if domain == "kubernetes.io" or domain.endswith(".kubernetes.io") else 91 * _DAY
        where = at.child("maxExpirationSeconds")
        if seconds < 3600:
            errors.append(invalid(where, seconds, "if provided, maxExpirationSeconds must be >= 3600"))
        if seconds > most:
            errors.append(invalid(where, seconds, f"if provided, maxExpirationSeconds must be <= {most}"))
    names = [n for n in ("credentialBundlePath", "keyPath", "certificateChainPath") if source.get(n)]
    for name in names:
        errors += local_non_reserved_path(source[name], at.child(name)) + _claim(
            source[name], taken, source[name], path
        )
    if not names:
        detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(at, detail))
    return errors


def _user_annotations(annotations: Fields, path: Path) -> Errors:
    errors: Errors = []
    for key in annotations:
        errors += is_domain_prefixed_key(path, key.lower())
    if sum(size(key) + size(value) for key, value in annotations.items()) > ANNOTATIONS_MAX:
        errors.append(too_long(path, ANNOTATIONS_MAX))
    return errors
