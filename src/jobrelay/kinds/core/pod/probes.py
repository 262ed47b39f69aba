"""Checks on probes, lifecycle hooks and the handlers that both use."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import Path, forbidden, invalid, not_supported, required
from jobrelay.apimachinery.meta import validate_non_negative
from jobrelay.apimachinery.names import is_http_header_name, is_valid_port_name, is_valid_port_num
from jobrelay.kinds.core.pod.common import Errors, Fields, invalid_each

_COUNTS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def validate_port(port: Any, path: Path) -> Errors:
    """A port given by number or by name."""
    check = is_valid_port_name(port) if isinstance(port, str) else is_valid_port_num(port)
    return invalid_each(path, port, check)


def _exec(action: Fields, path: Path) -> Errors:
    return [] if action.get("command") else [required(path.child("command"))]


def _http_get(action: Fields, path: Path) -> Errors:
    errors = [] if action.get("path") else [required(path.child("path"))]
    errors += validate_port(action.get("port", 0), path.child("port"))
    scheme = action.get("scheme", "")
    if scheme not in ("HTTP", "HTTPS"):
        errors.append(not_supported(path.child("scheme"), scheme, ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        errors += invalid_each(path.child("httpHeaders"), name, is_http_header_name(name))
    return errors


def _port_action(action: Fields, path: Path) -> Errors:
    return validate_port(action.get("port", 0), path.child("port"))


def _validate_handler(handler: Fields, kinds: tuple[str, ...], grace: int | None, path: Path) -> Errors:
    checks = {"exec": _exec, "httpGet": _http_get, "tcpSocket": _port_action, "grpc": _port_action}
    errors: Errors = []
    found = False
    for name in kinds:
        action = handler.get(name)
        if action is None:
            continue
        at = path.child(name)
        if found:
            errors.append(forbidden(at, "may not specify more than 1 handler type"))
        elif name == "sleep":
            errors += _validate_sleep(action, grace, at)
        else:
            errors += checks[name](action, at)
        found = True
    if not found:
        errors.append(required(path, "must specify a handler type"))
    return errors


def _validate_sleep(action: Fields, grace: int | None, path: Path) -> Errors:
    seconds = action.get("seconds", 0)
    if grace is None or 0 <= seconds <= grace:
        return []
    return [invalid(path, seconds, f"must be non-negative and less than terminationGracePeriodSeconds ({grace})")]


def _validate_probe(probe: Fields, grace: int | None, path: Path) -> Errors:
    errors = _validate_handler(probe, ("exec", "httpGet", "tcpSocket", "grpc"), grace, path)
    for name in _COUNTS:
        errors += validate_non_negative(probe.get(name, 0), path.child(name))
    own_grace = probe.get("terminationGracePeriodSeconds")
    if own_grace is not None and own_grace <= 0:
        errors.append(invalid(path.child("terminationGracePeriodSeconds"), own_grace, "must be greater than 0"))
    return errors


def validate_probes(container: Fields, grace: int | None, path: Path) -> Errors:
    errors: Errors = []
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is None:
            continue
        at = path.child(name)
        errors += _validate_probe(probe, grace, at)
        if name == "readinessProbe":
            own_grace = probe.get("terminationGracePeriodSeconds")
            if own_grace is not None:
                where = at.child("terminationGracePeriodSeconds")
                errors.append(invalid(where, own_grace, "must not be set for readinessProbes"))
        elif probe.get("successThreshold", 0) != 1:
            errors.append(invalid(at.child("successThreshold"), probe.get("successThreshold", 0), "must be 1"))
    return errors


def validate_lifecycle(lifecycle: Fields, grace: int | None, path: Path) -> Errors:
    errors: Errors = []
    for name in ("postStart", "preStop"):
        if lifecycle.get(name) is not None:
            errors += _validate_handler(
                lifecycle[name], ("exec", "httpGet", "tcpSocket", "sleep"), grace, path.child(name)
            )
    return errors
