"""The address of a webhook: an https URL, or a service with a path. URLs are parsed as Go does."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

from jobrelay.apimachinery.field import FieldError, Path, go_quote, invalid, required
from jobrelay.apimachinery.names import is_dns1123_subdomain, is_valid_port_num

_FORM: Final = "; desired format: https://host[/path]"
_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_HOST: Final = re.compile(r"(\[[^\]]*\]|[^\[\]:]*)(:.*)?", re.DOTALL)
_BAD_HOST_CHAR: Final = re.compile(r'[\x00-\x20"<>\\^`{|}\x7f]')


def _parse_error(url: str) -> str:
    """The error of Go's url.Parse for a URL; empty when it is valid."""
    if re.search(r"[\x00-\x1f\x7f]", url):
        return "net/url: invalid control character in URL"
    rest = url.partition("#")[0]
    if rest.startswith(":"):
        return "missing protocol scheme"
    scheme = _SCHEME.match(rest)
    rest = rest[scheme.end() :] if scheme else rest
    if not rest.startswith("/"):
        colon = not scheme and ":" in rest.partition("?")[0].partition("/")[0]
        return "first path segment in URL cannot contain colon" if colon else ""
    return _authority_error(rest) if rest.startswith("//") else ""


def _authority_error(rest: str) -> str:
    host = re.split(r"[/?]", rest[2:], maxsplit=1)[0].rpartition("@")[2]
    if bad := _BAD_HOST_CHAR.search(host):
        return f"invalid character {go_quote(bad.group())} in host name"
    found = _HOST.fullmatch(host)
    port = found.group(2) if found else None
    if port and not re.fullmatch(r":\d*", port, re.ASCII):
        return f"invalid port {go_quote(port)} after host"
    return ""


def validate_webhook_url(url: str, path: Path) -> list[FieldError]:
    if problem := _parse_error(url):
        shown = url.partition("#")[0] if "control" not in problem else url
        return [required(path, f"url must be a valid URL: parse {go_quote(shown)}: {problem}{_FORM}")]
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    errors: list[FieldError] = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not host:
        errors.append(invalid(path, host, f"host must be specified{_FORM}"))
    if at:
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def validate_webhook_service(service: dict[str, Any], path: Path) -> list[FieldError]:
    """The server mixes up the two names here: a missing namespace is reported as a missing name, and the other way."""
    errors: list[FieldError] = []
    if not service["namespace"]:
        errors.append(required(path.child("name")))
    if not service["name"]:
        errors.append(required(path.child("namespace")))
    if texts := is_valid_port_num(service["port"]):
        errors.append(invalid(path.child("port"), service["port"], "port is not valid: " + ", ".join(texts)))
    return errors + validate_url_path(service.get("path") or "", path.child("path"))


def validate_url_path(value: str, path: Path) -> list[FieldError]:
    if value in ("", "/"):
        return []
    if value == "//":
        return [invalid(path, value, "segment[0] may not be empty")]
    errors = [] if value.startswith("/") else [invalid(path, value, "must start with a '/'")]
    for i, segment in enumerate(value[1:].removesuffix("/").split("/")):
        texts = [f": {text}" for text in is_dns1123_subdomain(segment)] if segment else [" may not be empty"]
        errors += [invalid(path, value, f"segment[{i}]{text}") for text in texts]
    return errors
