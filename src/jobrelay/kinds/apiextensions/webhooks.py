"""Where a conversion webhook is called: URL, service, and the certificates that it is trusted by."""

from __future__ import annotations

from urllib.parse import urlsplit

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.names import is_dns1123_subdomain, is_valid_port_num
from jobrelay.kinds.strategy import Obj

_FORM = "; desired format: https://host[/path]"


def url_errors(url: str, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        errors.append(field.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not host:
        errors.append(field.invalid(path, host, f"host must be specified{_FORM}"))
    if at:
        errors.append(field.invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(field.invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(field.invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def service_errors(service: Obj, path: Path) -> list[FieldError]:
    """The server confuses name and namespace here when it reports the missing one."""
    errors: list[FieldError] = []
    if not service.get("namespace"):
        errors.append(field.required(path.child("name")))
    if not service.get("name"):
        errors.append(field.required(path.child("namespace")))
    port = service.get("port", 443)
    if wrong := is_valid_port_num(port):
        errors.append(field.invalid(path.child("port"), port, "port is not valid: " + ", ".join(wrong)))
    return errors + _path_errors(service.get("path"), path.child("path"))


def _path_errors(text: str | None, path: Path) -> list[FieldError]:
    if not text or text == "/":
        return []
    if text == "//":
        return [field.invalid(path, text, "segment[0] may not be empty")]
    errors = [] if text.startswith("/") else [field.invalid(path, text, "must start with a '/'")]
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(field.invalid(path, text, f"segment[{index}] may not be empty"))
            continue
        errors += [field.invalid(path, text, f"segment[{index}]: {failure}") for failure in is_dns1123_subdomain(step)]
    return errors


def ca_bundle_problem(bundle: bytes) -> str:
    """Why a bundle holds no usable certificates; empty when it does."""
    from cryptography import x509

    if not bundle:
        return ""
    try:
        x509.load_pem_x509_certificates(bundle)
    except ValueError:
        return "unable to load root certificates: unable to parse bytes as PEM block"
    return ""
