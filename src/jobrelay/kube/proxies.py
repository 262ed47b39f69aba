"""The proxy between this process and an API server, as the environment names it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

__all__ = ["proxy_for"]


def proxy_for(server: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that the environment names, unless NO_PROXY exempts the server by name, suffix, address or CIDR."""
    url = urlsplit(server)
    proxy = environ.get(f"{url.scheme}_proxy") or environ.get(f"{url.scheme.upper()}_PROXY")
    host = url.hostname or ""
    exempt = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").split(",")
    if not proxy or _is_loopback(host) or any(_exempts(rule.strip(), host) for rule in exempt):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _exempts(rule: str, host: str) -> bool:
    if rule in ("", "*"):
        return rule == "*"
    address = _address(host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    suffix = rule.lower().lstrip("*").lstrip(".")
    return host == suffix or host.endswith(f".{suffix}")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
