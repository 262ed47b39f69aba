"""Ingresses and their classes. Rules that became stricter do not apply to objects that broke them before."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import names
from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported, required, too_long
from jobrelay.apimachinery.ips import ip_warnings, is_valid_ip_for_legacy_field, parse_ip
from jobrelay.apimachinery.meta import validate_immutable_field, validate_object_meta, validate_object_meta_update
from jobrelay.kinds.core.checks import dns_subdomain
from jobrelay.kinds.generation import count_spec_changes, keep_spec, prepare_spec_update, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
SCOPES: Final = ("Cluster", "Namespace")
MAX_CONTROLLER: Final = 250
_BAD_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_SUFFIXES: Final = ("/..", "/.")
_NOT_AN_IP: Final = "must be a DNS name, not an IP address"
_SPEC: Final = Path("spec")


def prepare_create(obj: Obj) -> None:
    obj["status"] = {"loadBalancer": {}}
    start_generation(obj)


def validate(obj: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=True, name_fn=names.name_is_dns_subdomain)
    spec = obj["spec"]
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        errors.append(invalid(_SPEC, spec.get("rules"), "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _validate_backend(backend, _SPEC.child("defaultBackend"))
    lenient = old is not None and _has_bad_wildcard_rule(old)
    for i, rule in enumerate(rules):
        errors += _validate_rule(rule, _SPEC.child("rules").index(i), lenient_wildcard=lenient)
    check_secret = old is None or not any(_bad_secret(tls) for tls in old["spec"].get("tls") or ())
    for i, tls in enumerate(spec.get("tls") or ()):
        errors += _validate_tls(tls, _SPEC.child("tls").index(i), check_secret=check_secret)
    if (name := spec.get("ingressClassName")) is not None:
        errors += dns_subdomain(name, _SPEC.child("ingressClassName"))
    return errors


def validate_create(obj: Obj) -> list[FieldError]:
    errors = validate(obj)
    annotated = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    name = obj["spec"].get("ingressClassName")
    if annotated is not None and name is not None and annotated != name:
        path = Path("annotations").child(CLASS_ANNOTATION)
        errors.append(invalid(path, annotated, "must match `ingressClassName` when both are specified"))
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(new["metadata"], old["metadata"]) + validate(new, old)


def _bad_secret(tls: dict[str, Any]) -> list[str]:
    name = tls.get("secretName", "")
    return names.is_dns1123_subdomain(name) if name else []


def _has_bad_wildcard_rule(old: Obj) -> bool:
    return any("*" in rule.get("host", "") and _validate_http(rule, Path()) for rule in old["spec"].get("rules") or ())


def _host_errors(host: str, path: Path) -> list[FieldError]:
    texts = names.is_wildcard_dns1123_subdomain(host) if "*" in host else names.is_dns1123_subdomain(host)
    return [invalid(path, host, text) for text in texts]


def _validate_tls(tls: dict[str, Any], path: Path, *, check_secret: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, host in enumerate(tls.get("hosts") or ()):
        errors += _host_errors(host, path.child("hosts").index(i))
    if check_secret:
        errors += [invalid(path.child("secretName"), tls["secretName"], text) for text in _bad_secret(tls)]
    return errors


def _validate_rule(rule: dict[str, Any], path: Path, *, lenient_wildcard: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    host = rule.get("host", "")
    if host:
        if parse_ip(host) is not None:
            errors.append(invalid(path.child("host"), host, _NOT_AN_IP))
        errors += _host_errors(host, path.child("host"))
    if "*" not in host or not lenient_wildcard:
        errors += _validate_http(rule, path)
    return errors


def _validate_http(rule: dict[str, Any], path: Path) -> list[FieldError]:
    http = rule.get("http")
    if http is None:
        return []
    paths = http.get("paths") or []
    errors = [] if paths else [required(path.child("http", "paths"))]
    for i, entry in enumerate(paths):
        errors += _validate_path(entry, path.child("http", "paths").index(i))
    return errors


def _validate_path(entry: dict[str, Any], path: Path) -> list[FieldError]:
    kind, value = entry.get("pathType"), entry.get("path", "")
    if kind is None:
        return [required(path.child("pathType"), "pathType must be specified")]
    errors: list[FieldError] = []
    place = path.child("path")
    if kind not in PATH_TYPES:
        errors.append(not_supported(path.child("pathType"), kind, PATH_TYPES))
    elif not value.startswith("/") and (value or kind != "ImplementationSpecific"):
        errors.append(invalid(place, value, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        errors += [invalid(place, value, f"must not contain '{bad}'") for bad in _BAD_SEQUENCES if bad in value]
        errors += [invalid(place, value, f"cannot end with '{bad}'") for bad in _BAD_SUFFIXES if value.endswith(bad)]
    return errors + _validate_backend(entry["backend"], path.child("backend"))


def _validate_backend(backend: dict[str, Any], path: Path) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _validate_reference(resource, path.child("resource"))
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    name = service["name"]
    if name:
        errors = [invalid(path.child("service", "name"), name, text) for text in names.is_dns1035_label(name)]
    else:
        errors = [required(path.child("service", "name"))]
    return errors + _validate_backend_port(service.get("port") or {}, path)


def _validate_backend_port(port: dict[str, Any], path: Path) -> list[FieldError]:
    name, number = port.get("name", ""), port.get("number", 0)
    place = path.child("service", "port")
    if name and number:
        return [invalid(path, "", "cannot set both port name & port number")]
    if name:
        return [invalid(place.child("name"), name, text) for text in names.is_valid_port_name(name)]
    if number:
        return [invalid(place.child("number"), number, text) for text in names.is_valid_port_num(number)]
    return [required(path, "port name or number is required")]


def _validate_reference(reference: dict[str, Any], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if (group := reference.get("apiGroup")) is not None:
        errors += dns_subdomain(group, path.child("apiGroup"))
    for field in ("kind", "name"):
        errors += path_segment(reference.get(field, ""), path.child(field))
    return errors


def path_segment(value: str, path: Path) -> list[FieldError]:
    """A name that must be there and must fit between two slashes of a URL."""
    if not value:
        return [required(path)]
    return [invalid(path, value, text) for text in names.name_is_path_segment(value, False)]


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    for i, entry in enumerate(_entries(new)):
        path = Path("status.loadBalancer.ingress").index(i)
        if ip := entry.get("ip"):
            errors += is_valid_ip_for_legacy_field(path.child("ip"), ip)
        if host := entry.get("hostname"):
            errors += dns_subdomain(host, path.child("hostname"))
            if parse_ip(host) is not None:
                errors.append(invalid(path.child("hostname"), host, _NOT_AN_IP))
    return errors


def _entries(obj: Obj) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = obj["status"]["loadBalancer"].get("ingress") or []
    return entries


def status_warnings(new: Obj, old: Obj) -> list[str]:
    found: list[str] = []
    for i, entry in enumerate(_entries(new)):
        if ip := entry.get("ip"):
            found += ip_warnings(Path("status.loadBalancer.ingress").index(i), ip)
    return found


def warnings(obj: Obj) -> list[str]:
    annotated = CLASS_ANNOTATION in (obj["metadata"].get("annotations") or {})
    if annotated and obj["spec"].get("ingressClassName") is None:
        return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def default_class(obj: Obj) -> None:
    parameters = obj["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def validate_class(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, name_fn=names.name_is_dns_subdomain)
    controller = obj["spec"].get("controller", "")
    if names.size(controller) > MAX_CONTROLLER:
        errors.append(too_long(_SPEC.child("controller"), MAX_CONTROLLER))
    errors += names.is_domain_prefixed_path(_SPEC.child("controller"), controller)
    parameters = obj["spec"].get("parameters")
    return errors + (_validate_parameters(parameters) if parameters is not None else [])


def _validate_parameters(parameters: dict[str, Any]) -> list[FieldError]:
    path = _SPEC.child("parameters")
    errors = _validate_reference(parameters, path)
    scope, namespace = parameters["scope"], parameters.get("namespace")
    if scope not in SCOPES:
        errors.append(not_supported(path.child("scope"), scope, SCOPES))
    elif scope == "Cluster":
        if namespace is not None:
            errors.append(forbidden(path.child("namespace"), "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        errors.append(required(path.child("namespace"), "`parameters.scope` is set to 'Namespace'"))
    else:
        errors += [invalid(path.child("namespace"), namespace, text) for text in names.is_dns1123_label(namespace)]
    return errors


def validate_class_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    before, after = old["spec"].get("controller", ""), new["spec"].get("controller", "")
    errors += validate_immutable_field(after, before, _SPEC.child("controller"))
    return errors + validate_class(new)


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("networking.k8s.io", "ingresses"): Strategy(
        prepare_create=prepare_create,
        validate_create=validate_create,
        warn_create=warnings,
        update=UpdateStrategy(prepare_spec_update, validate_update),
        subresources={"status": UpdateStrategy(keep_spec, validate_status, status_warnings)},
        reset_fields={"": (("status",),), "status": (("spec",),)},
    ),
    ("networking.k8s.io", "ingressclasses"): Strategy(
        default=default_class,
        prepare_create=start_generation,
        validate_create=validate_class,
        update=UpdateStrategy(count_spec_changes, validate_class_update),
    ),
}
