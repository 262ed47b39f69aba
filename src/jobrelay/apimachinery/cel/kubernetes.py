"""Kubernetes' own functions: quantities, IP addresses and networks, URLs, named formats, semantic versions."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from jobrelay.apimachinery import formats, names, quantity
from jobrelay.apimachinery.cel.functions import declare
from jobrelay.apimachinery.cel.values import INT_MAX, INT_MIN, CelError, CelOptional, Opaque
from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.goint import read_int

QUANTITY: Final = "kubernetes.Quantity"
IP: Final = "net.IP"
CIDR: Final = "net.CIDR"
URL: Final = "kubernetes.URL"
FORMAT: Final = "kubernetes.NamedFormat"
SEMVER: Final = "kubernetes.Semver"


def _quantity(text: str) -> Opaque:
    try:
        return Opaque(QUANTITY, quantity.number(text))
    except quantity.QuantityError as error:
        raise CelError(str(error)) from None


def _fits_int(value: Fraction) -> bool:
    return value.denominator == 1 and INT_MIN <= value <= INT_MAX


def _as_integer(value: Opaque) -> int:
    if not _fits_int(value.value):
        raise CelError("cannot convert value to integer")
    return int(value.value)


def _order(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def _declare_quantity() -> None:
    declare("quantity", "(string) kubernetes.Quantity", _quantity)
    declare("isQuantity", "(string) bool", _valid(quantity.parse))
    declare("sign", "kubernetes.Quantity.() int", lambda q: _order(q.value, 0))
    declare("asInteger", "kubernetes.Quantity.() int", _as_integer)
    declare("isInteger", "kubernetes.Quantity.() bool", lambda q: _fits_int(q.value))
    declare("asApproximateFloat", "kubernetes.Quantity.() double", lambda q: float(q.value))
    for type_ in (QUANTITY, SEMVER):
        declare("isGreaterThan", f"{type_}.({type_}) bool", lambda a, b: a.value > b.value)
        declare("isLessThan", f"{type_}.({type_}) bool", lambda a, b: a.value < b.value)
        declare("compareTo", f"{type_}.({type_}) int", lambda a, b: _order(a.value, b.value))
    both = "kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity"
    declare("add", both, lambda a, b: Opaque(QUANTITY, a.value + b.value))
    declare("add", "kubernetes.Quantity.(int) kubernetes.Quantity", lambda a, b: Opaque(QUANTITY, a.value + b))
    declare("sub", both, lambda a, b: Opaque(QUANTITY, a.value - b.value))
    declare("sub", "kubernetes.Quantity.(int) kubernetes.Quantity", lambda a, b: Opaque(QUANTITY, a.value - b))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        made = ipaddress.ip_address(text)
    except ValueError:
        problem = f"ParseAddr({go_quote(text)}): unable to parse IP"
        raise CelError(f"IP Address {go_quote(text)} parse error during conversion from string: {problem}") from None
    if "%" in text:
        raise CelError(f"IP address {go_quote(text)} with zone value is not allowed")
    if isinstance(made, ipaddress.IPv6Address) and made.ipv4_mapped is not None:
        raise CelError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return made


def _network(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    _, slash, bits = text.partition("/")
    failure = "network address parse error during conversion from string: "
    if not slash:
        raise CelError(f"{failure}{failure}netip.ParsePrefix({go_quote(text)}): no '/'")
    try:
        made = ipaddress.ip_interface(text)
    except ValueError:
        made = None
    if made is None or re.fullmatch(r"0|[1-9]\d*", bits, re.ASCII) is None:
        raise CelError(f"{failure}{failure}netip.ParsePrefix({go_quote(text)}): bad bits after slash: {go_quote(bits)}")
    if isinstance(made, ipaddress.IPv6Interface) and made.ip.ipv4_mapped is not None:
        raise CelError(f"{failure}IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return made


def _valid(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def valid(text: str) -> bool:
        try:
            parse(text)
        except (CelError, quantity.QuantityError):
            return False
        return True

    return valid


def _contains_ip(cidr: Opaque, ip: Any) -> bool:
    return ip.version == cidr.value.version and ip in cidr.value.network


def _contains_cidr(cidr: Opaque, other: Any) -> bool:
    mine, its = cidr.value.network, other.network
    return mine.version == its.version and bool(its.subnet_of(mine))


def _global_unicast(ip: Any) -> bool:
    broadcast = ip.version == 4 and str(ip) == "255.255.255.255"
    return not (broadcast or ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local)


def _link_local_multicast(ip: Any) -> bool:
    packed = ip.packed
    return bool(packed[:3] == b"\xe0\x00\x00" if ip.version == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 0x02)


def _declare_addresses() -> None:
    declare("ip", "(string) net.IP", lambda text: Opaque(IP, _address(text)))
    declare("isIP", "(string) bool", _valid(_address))
    declare("ip.isCanonical", "(string) bool", lambda text: str(_address(text)) == text)
    declare("string", "(net.IP) string", lambda ip: str(ip.value))
    declare("family", "net.IP.() int", lambda ip: ip.value.version)
    declare("isUnspecified", "net.IP.() bool", lambda ip: ip.value.is_unspecified)
    declare("isLoopback", "net.IP.() bool", lambda ip: ip.value.is_loopback)
    declare("isLinkLocalMulticast", "net.IP.() bool", lambda ip: _link_local_multicast(ip.value))
    declare("isLinkLocalUnicast", "net.IP.() bool", lambda ip: ip.value.is_link_local)
    declare("isGlobalUnicast", "net.IP.() bool", lambda ip: _global_unicast(ip.value))
    declare("cidr", "(string) net.CIDR", lambda text: Opaque(CIDR, _network(text)))
    declare("isCIDR", "(string) bool", _valid(_network))
    declare("containsIP", "net.CIDR.(string) bool", lambda cidr, text: _contains_ip(cidr, _address(text)))
    declare("containsIP", "net.CIDR.(net.IP) bool", lambda cidr, ip: _contains_ip(cidr, ip.value))
    declare("containsCIDR", "net.CIDR.(string) bool", lambda cidr, text: _contains_cidr(cidr, _network(text)))
    declare("containsCIDR", "net.CIDR.(net.CIDR) bool", lambda cidr, other: _contains_cidr(cidr, other.value))
    declare("ip", "net.CIDR.() net.IP", lambda cidr: Opaque(IP, cidr.value.ip))
    declare("prefixLength", "net.CIDR.() int", lambda cidr: cidr.value.network.prefixlen)
    declare("masked", "net.CIDR.() net.CIDR", lambda cidr: Opaque(CIDR, ipaddress.ip_interface(cidr.value.network)))
    declare("string", "(net.CIDR) string", lambda cidr: str(cidr.value))


def url_problem(text: str) -> str:
    """Why a text is not an absolute URI or path; empty when it is one."""
    where = f"parse {go_quote(text)}: "
    if not text:
        return where + "empty url"
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        return where + "net/url: invalid control character in URL"
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", text)
    if scheme is None and text[0] != "/":
        return where + ("missing protocol scheme" if text[0] == ":" else "invalid URI for request")
    rest = text[scheme.end() :] if scheme else text
    if not rest.startswith("/"):
        return where + "invalid URI for request" if not rest else ""
    if bad := re.search(r"%(?![0-9A-Fa-f]{2}).{0,2}", text):
        return f"{where}invalid URL escape {go_quote(bad.group())}"
    host = rest[2:].split("/", 1)[0] if rest.startswith("//") else ""
    if " " in host:
        return where + 'invalid character " " in host name'
    port = re.search(r":([^:\]]*)$", host.rpartition("@")[2])
    if port and port.group(1) and not port.group(1).isdigit():
        return f"{where}invalid port {go_quote(port.group())} after host"
    return ""


def _url(text: str) -> Opaque:
    if problem := url_problem(text):
        raise CelError(f"URL parse error during conversion from string: {problem}")
    return Opaque(URL, urlsplit(text))


def _host(url: SplitResult) -> str:
    return url.netloc.rpartition("@")[2]


def _hostname(url: SplitResult) -> str:
    host = _host(url)
    return host[1 : host.index("]")] if host.startswith("[") and "]" in host else host.partition(":")[0]


def _port(url: SplitResult) -> str:
    match = re.search(r":(\d*)$", _host(url))
    return match.group(1) if match else ""


def _declare_urls() -> None:
    declare("url", "(string) kubernetes.URL", _url)
    declare("isURL", "(string) bool", lambda text: not url_problem(text))
    declare("getScheme", "kubernetes.URL.() string", lambda url: url.value.scheme)
    declare("getHost", "kubernetes.URL.() string", lambda url: _host(url.value))
    declare("getHostname", "kubernetes.URL.() string", lambda url: unquote(_hostname(url.value)))
    declare("getPort", "kubernetes.URL.() string", lambda url: _port(url.value))
    declare("getEscapedPath", "kubernetes.URL.() string", lambda url: url.value.path)
    declare(
        "getQuery",
        "kubernetes.URL.() map(string, list(string))",
        lambda url: parse_qs(url.value.query, keep_blank_values=True),
    )


def _strfmt(name: str, problem: str) -> Callable[[str], list[str]]:
    check = formats.FORMATS[name]
    return lambda text: [] if check(text) else [problem]


FORMATS: Final[dict[str, tuple[str, Callable[[str], list[str]]]]] = {
    "dns1123Label": ("DNS1123Label", lambda text: names.name_is_dns_label(text, False)),
    "dns1123Subdomain": ("DNS1123Subdomain", lambda text: names.name_is_dns_subdomain(text, False)),
    "dns1035Label": ("DNS1035Label", lambda text: names.name_is_dns1035_label(text, False)),
    "qualifiedName": ("QualifiedName", names.is_qualified_name),
    "dns1123LabelPrefix": ("DNS1123LabelPrefix", lambda text: names.name_is_dns_label(text, True)),
    "dns1123SubdomainPrefix": ("DNS1123SubdomainPrefix", lambda text: names.name_is_dns_subdomain(text, True)),
    "dns1035LabelPrefix": ("DNS1035LabelPrefix", lambda text: names.name_is_dns1035_label(text, True)),
    "labelValue": ("LabelValue", names.is_valid_label_value),
    "uri": ("URI", lambda text: [problem] if (problem := url_problem(text)) else []),
    "uuid": ("uuid", _strfmt("uuid", "does not match the UUID format")),
    "byte": ("byte", _strfmt("byte", "invalid base64")),
    "date": ("date", _strfmt("date", "invalid date")),
    "datetime": ("datetime", _strfmt("datetime", "invalid datetime")),
}


def _check_format(format_: Opaque, text: str) -> CelOptional:
    problems = FORMATS[format_.value][1](text)
    return CelOptional(problems, present=True) if problems else CelOptional()


def _declare_formats() -> None:
    for name in FORMATS:
        declare(f"format.{name}", "() kubernetes.NamedFormat", lambda name=name: Opaque(FORMAT, name))
    declare(
        "format.named",
        "(string) optional(kubernetes.NamedFormat)",
        lambda name: CelOptional(Opaque(FORMAT, name), present=name in FORMATS),
    )
    declare("validate", "kubernetes.NamedFormat.(string) optional(list(string))", _check_format)


_NUMBER: Final = r"(0|[1-9]\d*)"
_LABELS: Final = r"([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)"
_SEMVER = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_LABELS})?(?:\+{_LABELS})?", re.ASCII)


def _semver(text: str, tolerant: bool = False) -> Opaque:
    match = _SEMVER.fullmatch(_normalised(text) if tolerant else text)
    if match is None:
        if text.count(".") < 2:
            raise CelError("No Major.Minor.Patch elements found")
        raise CelError(f"Invalid character(s) found in {go_quote(text)}")
    numbers = tuple(read_int(part) for part in match.groups()[:3])
    release = match.group(4)
    parts = tuple((0, read_int(p), "") if p.isdigit() else (1, 0, p) for p in release.split(".")) if release else ()
    return Opaque(SEMVER, (numbers, not parts, parts))


def _normalised(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    parts = [re.sub(r"^0+(?=\d)", "", part) for part in parts]
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _declare_semver() -> None:
    declare("semver", "(string) kubernetes.Semver", _semver)
    declare("semver", "(string, bool) kubernetes.Semver", _semver)
    declare("isSemver", "(string) bool", _valid(_semver))
    declare("isSemver", "(string, bool) bool", lambda text, tolerant: _valid(lambda t: _semver(t, tolerant))(text))
    for at, name in enumerate(("major", "minor", "patch")):
        declare(name, "kubernetes.Semver.() int", lambda version, at=at: version.value[0][at])


def declare_functions() -> None:
    _declare_quantity()
    _declare_addresses()
    _declare_urls()
    _declare_formats()
    _declare_semver()
