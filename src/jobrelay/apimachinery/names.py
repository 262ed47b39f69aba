"""The grammar of names, keys and numbers in Kubernetes, with the explanations that users get.

Each `is_...` check returns the texts of what is wrong, an empty list when nothing is. The checks run on every write, so
the good case is one match of a compiled pattern; texts are only put together for a bad value. Lengths are in bytes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Final

from jobrelay.apimachinery.field import FieldError, Path, invalid, required

NameFn = Callable[[str, bool], list[str]]

_LABEL_FMT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FMT: Final = _LABEL_FMT + r"(\." + _LABEL_FMT + ")*"
_UNDERSCORE_LABEL_FMT: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_FMT: Final = _UNDERSCORE_LABEL_FMT + r"(\." + _UNDERSCORE_LABEL_FMT + ")*"
_DNS1035_FMT: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD_FMT: Final = r"\*\." + _SUBDOMAIN_FMT
_KEY_FMT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FMT: Final = f"({_KEY_FMT})?"
_C_IDENTIFIER_FMT: Final = "[A-Za-z_][A-Za-z0-9_]*"
_PERCENT_FMT: Final = "[0-9]+%"
_HEADER_FMT: Final = "[-A-Za-z0-9]+"
_ENV_FMT: Final = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY_FMT: Final = "[-._a-zA-Z0-9]+"
_HTTP_PATH_FMT: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
SUBDOMAIN_MAX: Final = 253
LABEL_MAX: Final = 63
_WORTH_KEEPING: Final = SUBDOMAIN_MAX + LABEL_MAX + 2  # longer names are wrong anyway

_label = re.compile(_LABEL_FMT).fullmatch
_subdomain = re.compile(_SUBDOMAIN_FMT).fullmatch
_underscore = re.compile(_UNDERSCORE_FMT).fullmatch
_dns1035 = re.compile(_DNS1035_FMT).fullmatch
_wildcard = re.compile(_WILDCARD_FMT).fullmatch
_key = re.compile(_KEY_FMT).fullmatch
_value = re.compile(_VALUE_FMT).fullmatch
_c_identifier = re.compile(_C_IDENTIFIER_FMT).fullmatch
_percent = re.compile(_PERCENT_FMT).fullmatch
_header = re.compile(_HEADER_FMT).fullmatch
_env = re.compile(_ENV_FMT).fullmatch
_relaxed_env = re.compile(r"[ -<>-~]*").fullmatch
_config_key = re.compile(_CONFIG_KEY_FMT).fullmatch
_http_path = re.compile(_HTTP_PATH_FMT).fullmatch
_port_name = re.compile("[-a-z0-9]+").fullmatch


def regex_error(message: str, pattern: str, *examples: str) -> str:
    shown = "e.g. " + " or ".join(f"'{example}', " for example in examples) if examples else ""
    return f"{message} ({shown}regex used for validation is '{pattern}')"


def max_length_error(length: int) -> str:
    return f"must be no more than {length} characters"


def max_bytes_error(length: int) -> str:
    return f"must be no more than {length} bytes"


def size(value: str) -> int:
    """The length in bytes, as Go counts."""
    return len(value) if value.isascii() else len(value.encode())


def _subdomain_errors(value: str, too_long: str) -> list[str]:
    errors = [too_long] if size(value) > SUBDOMAIN_MAX else []
    if not _subdomain(value):
        errors.append(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
            "start and end with an alphanumeric character", _SUBDOMAIN_FMT, "example.com",
        ))  # fmt: skip
    return errors


def is_dns1123_label(value: str) -> list[str]:
    if len(value) <= LABEL_MAX and _label(value):
        return []
    errors = [max_length_error(LABEL_MAX)] if size(value) > LABEL_MAX else []
    if not _label(value):
        errors.append("must not contain dots" if _subdomain(value) else regex_error(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
            "end with an alphanumeric character", _LABEL_FMT, "my-name", "123-abc",
        ))  # fmt: skip
    return errors


def is_dns1123_subdomain(value: str) -> list[str]:
    if len(value) <= SUBDOMAIN_MAX and _subdomain(value):
        return []
    return _subdomain_errors(value, max_length_error(SUBDOMAIN_MAX))


def is_long_name(value: str) -> list[str]:
    """A subdomain, with the error text of kinds whose validation is declared in their types."""
    if len(value) <= SUBDOMAIN_MAX and _subdomain(value):
        return []
    return _subdomain_errors(value, max_bytes_error(SUBDOMAIN_MAX))


def is_dns1123_subdomain_with_underscore(value: str) -> list[str]:
    errors = [max_length_error(SUBDOMAIN_MAX)] if size(value) > SUBDOMAIN_MAX else []
    if not _underscore(value):
        errors.append(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and "
            "must start and end with an alphanumeric character", _UNDERSCORE_FMT, "example.com",
        ))  # fmt: skip
    return errors


def is_dns1035_label(value: str) -> list[str]:
    errors = [max_length_error(LABEL_MAX)] if size(value) > LABEL_MAX else []
    if not _dns1035(value):
        errors.append(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
            " character, and end with an alphanumeric character", _DNS1035_FMT, "my-name", "abc-123",
        ))  # fmt: skip
    return errors


def is_wildcard_dns1123_subdomain(value: str) -> list[str]:
    errors = [max_length_error(SUBDOMAIN_MAX)] if size(value) > SUBDOMAIN_MAX else []
    if not _wildcard(value):
        errors.append(regex_error(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
            "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            _WILDCARD_FMT, "*.example.com",
        ))  # fmt: skip
    return errors


_KEY_TEXT: Final = regex_error(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _KEY_FMT, "MyName", "my.name", "123-abc",
)  # fmt: skip


def is_qualified_name(value: str) -> list[str]:
    """A label key, annotation key, finalizer, resource name: `name` or `prefix/name`."""
    check = _known_qualified_name if len(value) < _WORTH_KEEPING else _qualified_name_errors
    return list(check(value))


def _qualified_name_errors(value: str) -> list[str]:
    if len(value) <= LABEL_MAX and _key(value):
        return []
    parts = value.split("/")
    if len(parts) > 2:
        example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_TEXT} {example}"]
    errors = []
    if len(parts) == 2:
        if not parts[0]:
            errors.append("prefix part must be non-empty")
        elif len(parts[0]) > SUBDOMAIN_MAX or not _subdomain(parts[0]):
            errors.extend(f"prefix part {e}" for e in _subdomain_errors(parts[0], max_bytes_error(SUBDOMAIN_MAX)))
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif size(name) > LABEL_MAX:
        errors.append(f"name part {max_bytes_error(LABEL_MAX)}")
    if not _key(name):
        errors.append(f"name part {_KEY_TEXT}")
    return errors


_known_qualified_name = functools.lru_cache(4096)(_qualified_name_errors)


def is_valid_label_value(value: str) -> list[str]:
    if len(value) <= LABEL_MAX and _value(value):
        return []
    errors = [max_bytes_error(LABEL_MAX)] if size(value) > LABEL_MAX else []
    if not _value(value):
        errors.append(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character", _VALUE_FMT, "MyValue", "my_value", "12345",
        ))  # fmt: skip
    return errors


def _no_parent_directory(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def is_config_map_key(value: str) -> list[str]:
    errors = [max_length_error(SUBDOMAIN_MAX)] if size(value) > SUBDOMAIN_MAX else []
    if not _config_key(value):
        errors.append(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            _CONFIG_KEY_FMT, "key.name", "KEY_NAME", "key-name",
        ))  # fmt: skip
    return errors + _no_parent_directory(value)


def is_env_var_name(value: str) -> list[str]:
    errors = [] if _env(value) else [regex_error(
        "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must "
        "not start with a digit", _ENV_FMT, "my.env-name", "MY_ENV.NAME", "MyEnvName1",
    )]  # fmt: skip
    return errors + _no_parent_directory(value)


def is_relaxed_env_var_name(value: str) -> list[str]:
    if not value:
        return ["environment variable name must be non-empty"]
    if _relaxed_env(value):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def is_c_identifier(value: str) -> list[str]:
    if _c_identifier(value):
        return []
    return [regex_error(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
        "characters or '_'", _C_IDENTIFIER_FMT, "my_name", "MY_NAME", "MyName",
    )]  # fmt: skip


def is_in_range(number: int, low: int, high: int) -> list[str]:
    return [] if low <= number <= high else [f"must be between {low} and {high}, inclusive"]


def is_valid_port_num(port: int) -> list[str]:
    return is_in_range(port, 1, 65535)


def is_valid_user_id(uid: int) -> list[str]:
    """Also right for group ids."""
    return is_in_range(uid, 0, 2**31 - 1)


def is_valid_port_name(value: str) -> list[str]:
    errors = ["must be no more than 15 characters"] if size(value) > 15 else []
    if not _port_name(value):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        errors.append("must contain at least one letter (a-z)")
    if "--" in value:
        errors.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def is_valid_percent(value: str) -> list[str]:
    if _percent(value):
        return []
    text = "a valid percent string must be a numeric string followed by an ending '%'"
    return [regex_error(text, _PERCENT_FMT, "1%", "93%")]


def is_http_header_name(value: str) -> list[str]:
    if _header(value):
        return []
    text = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [regex_error(text, _HEADER_FMT, "X-Header-Name")]


def is_fully_qualified_name(path: Path, name: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    if errors := is_dns1123_subdomain(name):
        return [invalid(path, name, ",".join(errors))]
    if name.count(".") < 2:
        return [invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def is_fully_qualified_domain_name(path: Path, name: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    if errors := is_dns1123_subdomain(name):
        return [invalid(path, name, ",".join(errors))]
    if "." not in name:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    for label in name.split("."):
        if errors := is_dns1123_label(label):
            return [invalid(path, label, ",".join(errors))]
    return []


def is_domain_prefixed_path(path: Path, value: str) -> list[FieldError]:
    if not value:
        return [required(path)]
    host, _, rest = value.partition("/")
    if not host or not rest:
        return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(path, host, error) for error in is_dns1123_subdomain(host)]
    if not _http_path(rest):
        errors.append(invalid(path, rest, regex_error("Invalid path", _HTTP_PATH_FMT)))
    return errors


def _masked(name: str, prefix: bool) -> str:
    """A generateName may end in a dash, since something is put behind it."""
    return name[:-2] + "a" if prefix and len(name) > 1 and name.endswith("-") else name


def name_is_dns_subdomain(name: str, prefix: bool) -> list[str]:
    return is_dns1123_subdomain(_masked(name, prefix))


def name_is_dns_label(name: str, prefix: bool) -> list[str]:
    return is_dns1123_label(_masked(name, prefix))


def name_is_dns1035_label(name: str, prefix: bool) -> list[str]:
    return is_dns1035_label(_masked(name, prefix))


def name_is_path_segment(name: str, prefix: bool) -> list[str]:
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]
