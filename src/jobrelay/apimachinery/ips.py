"""IP addresses and CIDRs: the lenient syntax of old fields and the strict one of new fields.

Old fields accept leading zeros and IPv4-mapped IPv6 addresses, with a warning. New fields require the canonical form of
RFC 5952.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from typing import Final

from jobrelay.apimachinery.field import FieldError, Path, go_quote, invalid
from jobrelay.apimachinery.goint import read_int

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NOT_AN_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_QUAD = re.compile(r"(\d+)\.(\d+)\.(\d+)\.(\d+)", re.ASCII)
_TAIL_QUAD = re.compile(r"(?<=:)\d+\.\d+\.\d+\.\d+\Z", re.ASCII)


def _without_zeros(text: str) -> str | None:
    """A dotted quad without leading zeros, or None when a part is above 255."""
    numbers = [read_int(part) for part in text.split(".")]
    return ".".join(map(str, numbers)) if max(numbers) <= 255 else None


@functools.lru_cache(maxsize=1024)
def parse_ip(value: str) -> Address | None:
    """The address that the lenient reader sees."""
    if _QUAD.fullmatch(value):
        quad = _without_zeros(value)
        return ipaddress.IPv4Address(quad) if quad else None
    if ":" not in value or "%" in value:
        return None
    tail = _TAIL_QUAD.search(value)
    if tail is not None:
        quad = _without_zeros(tail.group())
        if quad is None:
            return None
        value = value[: tail.start()] + quad
    try:
        return ipaddress.IPv6Address(value)
    except ValueError:
        return None


@functools.lru_cache(maxsize=1024)
def _strict(value: str) -> Address | None:
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


def _mapped(address: Address | None) -> ipaddress.IPv4Address | None:
    return address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None


def ip_text(address: Address) -> str:
    """An address as Go's net.IP prints it: IPv4-mapped ones as IPv4."""
    return str(_mapped(address) or address)


def is_valid_ip_for_legacy_field(path: Path, value: str, *, strict: bool = False) -> list[FieldError]:
    if parse_ip(value) is None:
        return [invalid(path, value, NOT_AN_IP)]
    if not strict:
        return []
    address = _strict(value)
    if address is None:
        return [invalid(path, value, "must not have leading 0s")]
    if _mapped(address) is not None:
        return [invalid(path, value, "must not be an IPv4-mapped IPv6 address")]
    return []


def is_valid_ip(path: Path, value: str) -> list[FieldError]:
    errors = is_valid_ip_for_legacy_field(path, value, strict=True)
    address = parse_ip(value)
    if errors or address is None:
        return errors
    canonical = ip_text(address)
    return [] if value == canonical else [invalid(path, value, f"must be in canonical form ({go_quote(canonical)})")]


def ip_warnings(path: Path, value: str) -> list[str]:
    """The warnings for an address in an old field that is not in canonical form."""
    lenient, address = parse_ip(value), _strict(value)
    if lenient is None:
        return []
    if address is None or _mapped(address) is not None:
        text = (
            f"{path}: non-standard IP address {go_quote(value)} will be considered invalid in a future "
            "Kubernetes release"
        )
        return [f"{text}: use {go_quote(ip_text(lenient))}"]
    if isinstance(address, ipaddress.IPv6Address) and str(address) != value:
        return [
            f"{path}: IPv6 address {go_quote(value)} should be in RFC 5952 canonical format ({go_quote(str(address))})"
        ]
    return []


def parse_cidr(value: str) -> tuple[Address, int] | None:
    """The address and prefix length of a CIDR, read leniently."""
    text, slash, length = value.partition("/")
    address = parse_ip(text)
    if not slash or address is None or not re.fullmatch(r"\d+", length, re.ASCII):
        return None
    prefix = read_int(length)
    return (address, prefix) if prefix <= address.max_prefixlen else None


def _network_text(address: Address, prefix: int) -> str:
    mapped = _mapped(address)
    if mapped is not None and prefix >= 96:
        address, prefix = mapped, prefix - 96
    network = ipaddress.ip_network((address, prefix), strict=False)
    return f"{network.network_address}/{prefix}"


def is_valid_cidr_for_legacy_field(path: Path, value: str, *, strict: bool = False) -> list[FieldError]:
    parsed = parse_cidr(value)
    if parsed is None:
        return [invalid(path, value, NOT_A_CIDR)]
    if not strict:
        return []
    text, _, length = value.partition("/")
    address = _strict(text)
    if address is None or (len(length) > 1 and length[0] == "0"):
        return [invalid(path, value, "must not have leading 0s in IP or prefix length")]
    if _mapped(address) is not None:
        return [invalid(path, value, "must not have an IPv4-mapped IPv6 address")]
    if ipaddress.ip_network((address, parsed[1]), strict=False).network_address != address:
        return [invalid(path, value, "must not have bits set beyond the prefix length")]
    return []


def is_valid_cidr(path: Path, value: str) -> list[FieldError]:
    errors = is_valid_cidr_for_legacy_field(path, value, strict=True)
    parsed = parse_cidr(value)
    if errors or parsed is None:
        return errors
    canonical = _network_text(*parsed)
    return [] if value == canonical else [invalid(path, value, f"must be in canonical form ({go_quote(canonical)})")]


def cidr_warnings(path: Path, value: str) -> list[str]:
    """The warnings for a CIDR in an old field that is not in canonical form."""
    parsed = parse_cidr(value)
    if parsed is None:
        return []
    address, prefix = parsed
    network = ipaddress.ip_network((address, prefix), strict=False)
    shown, quoted = _network_text(address, prefix), go_quote(value)
    warnings = []
    if network.network_address != address:
        single = f"{ip_text(address)}/{32 if address.version == 4 else 128}"
        warnings.append(
            f"{path}: CIDR value {quoted} is ambiguous in this context (should be {go_quote(shown)} or "
            f"{go_quote(single)}?)"
        )
    text, _, length = value.partition("/")
    strict = _strict(text)
    if strict is None or _mapped(strict) is not None or (len(length) > 1 and length[0] == "0"):
        warnings.append(
            f"{path}: non-standard CIDR value {quoted} will be considered invalid in a future Kubernetes release:"
            f" use {go_quote(shown)}"
        )
    if not warnings and address.version == 6 and f"{address}/{prefix}" != value:
        warnings.append(
            f"{path}: IPv6 CIDR value {quoted} should be in RFC 5952 canonical format "
            f"({go_quote(f'{address}/{prefix}')})"
        )
    return warnings


def is_valid_interface_address(path: Path, value: str) -> list[FieldError]:
    parsed = parse_cidr(value)
    if parsed is None:
        return [invalid(path, value, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")]
    address, prefix = parsed
    if _mapped(address) is not None and prefix > 32:
        prefix -= 96
    canonical = f"{ip_text(address)}/{prefix}"
    return [] if value == canonical else [invalid(path, value, f"must be in canonical form ({go_quote(canonical)})")]
