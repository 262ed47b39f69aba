"""The string formats that schemas enforce. Other formats, such as `int32` and `int64`, are ignored.

The names are compared without dashes, as the real server does: `date-time` and `datetime` are one format.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from collections.abc import Callable
from email.utils import parseaddr
from typing import Final

from jobrelay.apimachinery import times
from jobrelay.apimachinery.goint import read_int

_LETTER: Final = r"a-zA-Z0-9À-￿"
_HOSTNAME = re.compile(
    rf"([{_LETTER}](-?[{_LETTER}]{{0,62}})?|([{_LETTER}]([-{_LETTER}]{{0,61}}[{_LETTER}])?\.)+[a-zA-ZÀ-￿]{{2,63}})"
)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_MAC = re.compile(
    r"([0-9a-fA-F]{2}[:-]){5}([0-9a-fA-F]{2}[:-]){0,14}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}\.){2,9}[0-9a-fA-F]{4}"
)
_RGB_PART: Final = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_RGB = re.compile(rf"rgb\({_RGB_PART},{_RGB_PART},{_RGB_PART}\)")
_CARD = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})"
)
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_SCALA_DURATION = re.compile(r"(?<!\d)(\d++)\s*+([A-Za-zµ]+)")
_SCALA_UNITS: Final = re.compile(
    r"ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*", re.IGNORECASE
)
_URI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:[^\s]+|/[^\x00-\x20\x7f]*|\*)")


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str, variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    return _matches(
        rf"(?i)[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}"
    )


def is_date(text: str) -> bool:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII) is None:
        return False
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return text[:4] == "0000"
    return True


def is_date_time(text: str) -> bool:
    parts = text.lower().split("t")
    match = _TIME.fullmatch(parts[1]) if len(parts) > 1 else None
    if match is None or not is_date(parts[0]):
        return False
    return match.group(1) <= "23" and match.group(2) <= "59" and match.group(3) <= "59"


def is_duration(text: str) -> bool:
    try:
        times.parse_duration(text)
        return True
    except times.TimeError:
        return any(_SCALA_UNITS.fullmatch(unit) for _, unit in _SCALA_DURATION.findall(text))


def _sloppy(text: str) -> str:
    """IPv4 with the leading zeros that Kubernetes still tolerates dropped."""
    return re.sub(r"(?<![0-9a-fA-F:.])0+(?=\d)|(?<=\.)0+(?=\d)", "", text) if ":" not in text else text


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(_sloppy(text))
    except ValueError:
        return False
    return "%" not in text


def is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isdigit() or not bits.isascii() or not _is_ip(address):
        return False
    return read_int(bits) <= (128 if ":" in address else 32)


def is_hostname(text: str) -> bool:
    fits = len(text.encode()) <= 255 and all(len(part.encode()) <= 63 for part in text.split("."))
    return fits and _HOSTNAME.fullmatch(text) is not None


def is_email(text: str) -> bool:
    try:
        address = parseaddr(text)[1]
    except RecursionError:  # deeply nested comments
        return False
    local, at, domain = address.rpartition("@")
    return bool(at and local and domain) and " " not in address


def is_uri(text: str) -> bool:
    return _URI.fullmatch(text) is not None and re.search(r"%(?![0-9A-Fa-f]{2})", text) is None


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII) is None:
        return False
    return sum((i + 1) * (10 if c == "X" else int(c)) for i, c in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if re.fullmatch(r"\d{13}", digits, re.ASCII) is None:
        return False
    return sum((3 if i % 2 else 1) * int(c) for i, c in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    if _CARD.fullmatch(digits) is None:
        return False
    doubled = (int(c) * (2 if i % 2 else 1) for i, c in enumerate(reversed(digits)))
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "uri": is_uri,
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": lambda text: "." in text and _is_ip(text),
    "ipv6": lambda text: ":" in text and _is_ip(text),
    "cidr": is_cidr,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": lambda text: re.fullmatch(r"\d{3}[- ]\d{2}[- ]\d{4}", text, re.ASCII) is not None,
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": lambda text: _RGB.fullmatch(text) is not None,
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "password": lambda text: True,
    "date": is_date,
    "duration": is_duration,
    "datetime": is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", text) is not None,
    "k8slongname": lambda text: (
        len(text) <= 253
        and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", text) is not None
    ),
}


def format_check(name: str) -> Callable[[str], bool] | None:
    """The check of a format, or None when the server ignores it."""
    return FORMATS.get(name.replace("-", ""))
