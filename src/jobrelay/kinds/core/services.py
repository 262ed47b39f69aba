"""Services: defaults, what depends on the type, and what may not change once it is set.

Cluster IPs, IP families and node ports are filled in by `serviceaddresses` before these hooks see the object.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported
from jobrelay.apimachinery.ips import cidr_warnings, ip_warnings, is_valid_ip_for_legacy_field, parse_ip
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_dns1123_subdomain, name_is_dns1035_label
from jobrelay.kinds.core import servicechecks
from jobrelay.kinds.core.checks import unsupported_label
from jobrelay.kinds.core.serviceaddresses import begin_create, begin_update, needs_cluster_ip
from jobrelay.kinds.generation import keep_spec, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy, metadata_fields

__all__ = ["STRATEGIES", "begin_create", "begin_update", "needs_cluster_ip"]

DEFAULT_AFFINITY_SECONDS: Final = 10800
_SPEC: Final = Path("spec")
_ONCE: Final = "may not change once set"


def default(service: Obj) -> None:
    spec = service["spec"]
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    if affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if "timeoutSeconds" not in client:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": DEFAULT_AFFINITY_SECONDS}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort", 0) in (0, ""):
            port["targetPort"] = port.get("port", 0)
    if servicechecks.externally_accessible(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in (service["status"].get("loadBalancer") or {}).get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def prepare_create(service: Obj) -> None:
    service["status"] = {"loadBalancer": {}}


def canonicalize(service: Obj) -> None:
    """A name has no traffic: its policy is checked like any other, and never shown again."""
    if service["spec"].get("type") == "ExternalName":
        service["spec"].pop("internalTrafficPolicy", None)


def prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    spec, before = new["spec"], old["spec"]
    kind, old_kind = spec.get("type"), before.get("type")
    if kind == "ExternalName" and old_kind != "ExternalName":
        if all(spec.get(field) == before.get(field) for field in ("clusterIP", "clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        _drop_unchanged(spec, before, "ipFamilies", "ipFamilyPolicy")
    ported = ("NodePort", "LoadBalancer")
    if old_kind in ported and kind not in ported and _node_ports(spec) <= _node_ports(before):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if servicechecks.needs_health_check(before) and not servicechecks.needs_health_check(spec):
        _drop_unchanged(spec, before, "healthCheckNodePort")
    if old_kind == "LoadBalancer" and kind != "LoadBalancer":
        _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if servicechecks.externally_accessible(before) and not servicechecks.externally_accessible(spec):
        _drop_unchanged(spec, before, "externalTrafficPolicy")
    if kind != "LoadBalancer":
        new["status"] = {**new["status"], "loadBalancer": {}}


def _drop_unchanged(spec: dict[str, Any], before: dict[str, Any], *fields: str) -> None:
    """Fields that the new type does not have go away, unless the client set them to something else."""
    for field in fields:
        if field in spec and spec[field] == before.get(field):
            del spec[field]


def _node_ports(spec: dict[str, Any]) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def validate(service: Obj) -> list[FieldError]:
    errors = validate_object_meta(service["metadata"], namespaced=True, name_fn=name_is_dns1035_label)
    return errors + servicechecks.validate_service(service, None)


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        errors += _validate_ip_changes(spec, before) + _validate_family_changes(spec, before)
    errors += servicechecks.validate_load_balancer_class(spec, before)
    port = "healthCheckNodePort"
    if (
        servicechecks.needs_health_check(before)
        and servicechecks.needs_health_check(spec)
        and spec.get(port) != before.get(port)
    ):
        errors.append(forbidden(_SPEC.child(port), "field is immutable"))
    return errors + servicechecks.validate_service(new, old)


def _validate_ip_changes(spec: dict[str, Any], before: dict[str, Any]) -> list[FieldError]:
    ips, old_ips = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    at = _SPEC.child("clusterIPs")
    if servicechecks.headless(spec) and servicechecks.headless(before):
        return []
    if len(ips) == len(old_ips):
        return [invalid(at.index(i), ips, _ONCE) for i, ip in enumerate(old_ips) if ip != ips[i]]
    errors: list[FieldError] = []
    if old_ips and not ips:
        errors.append(invalid(at.index(0), ips, "primary clusterIP can not be unset"))
    elif old_ips and ips[0] != old_ips[0]:
        errors.append(invalid(at.index(0), ips, _ONCE))
    if len(ips) == 1 and len(old_ips) > 1:
        errors += _need_single_stack(spec, "clusterIP")
    return errors


def _validate_family_changes(spec: dict[str, Any], before: dict[str, Any]) -> list[FieldError]:
    families, old_families, ips = spec.get("ipFamilies") or [], before.get("ipFamilies") or [], spec.get("clusterIPs")
    at = _SPEC.child("ipFamilies").index(0)
    if servicechecks.headless(spec) or servicechecks.headless(before):
        return []
    if len(families) == len(old_families):
        return [invalid(at, families, _ONCE) for a, b in zip(families, old_families, strict=True) if a != b]
    errors: list[FieldError] = []
    if len(old_families) > len(families) and not ips:
        errors.append(invalid(at, families, "primary ipFamily can not be unset"))
    if families and old_families and families[0] != old_families[0]:
        errors.append(invalid(at, ips, _ONCE))
    if len(families) == 1 and len(old_families) > 1:
        errors += _need_single_stack(spec, "ipFamily")
    return errors


def _need_single_stack(spec: dict[str, Any], what: str) -> list[FieldError]:
    policy = spec.get("ipFamilyPolicy")
    text = f"must be set to 'SingleStack' when releasing the secondary {what}"
    return [] if policy == "SingleStack" else [invalid(_SPEC.child("ipFamilyPolicy"), policy, text)]


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    ingresses = _ingresses(new)
    at = Path("status.loadBalancer.ingress")
    if new["spec"].get("type") != "LoadBalancer" and ingresses:
        return [*errors, forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")]
    known = {ingress.get("ip") for ingress in _ingresses(old)}
    for i, ingress in enumerate(ingresses):
        errors += _validate_ingress(ingress, known, at.index(i))
    return errors


def _ingresses(service: Obj) -> list[dict[str, Any]]:
    return (service["status"].get("loadBalancer") or {}).get("ingress") or []


def _validate_ingress(ingress: dict[str, Any], known: set[str | None], path: Path) -> list[FieldError]:
    ip, mode, host = ingress.get("ip", ""), ingress.get("ipMode"), ingress.get("hostname", "")
    errors: list[FieldError] = []
    if ip and ip not in known:
        errors += is_valid_ip_for_legacy_field(path.child("ip"), ip)
    if mode is not None and not ip:
        errors.append(forbidden(path.child("ipMode"), "may not be specified when `ip` is not set"))
    elif mode is not None and mode not in ("Proxy", "VIP"):
        errors.append(not_supported(path.child("ipMode"), mode, ("Proxy", "VIP")))
    if host:
        errors += [invalid(path.child("hostname"), host, text) for text in is_dns1123_subdomain(host)]
        if parse_ip(host) is not None:
            errors.append(invalid(path.child("hostname"), host, "must be a DNS name, not an IP address"))
    return errors


def warnings(service: Obj) -> list[str]:
    spec, texts = service["spec"], []
    if servicechecks.TOPOLOGY_HINTS in (service["metadata"].get("annotations") or {}):
        texts.append(
            f"annotation {servicechecks.TOPOLOGY_HINTS} is deprecated, please use {servicechecks.TOPOLOGY_MODE} instead"
        )
    if spec.get("clusterIP", "") not in ("", "None"):
        for i, ip in enumerate(spec.get("clusterIPs") or ()):
            texts += ip_warnings(_SPEC.child("clusterIPs").index(i), ip)
    if spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None":
        ignored = {"loadBalancerIP": spec.get("loadBalancerIP"), "externalIPs": spec.get("externalIPs"),
                   "SessionAffinity": spec.get("sessionAffinity") != "None"}  # fmt: skip
        texts += [f"spec.{field} is ignored for headless services" for field, given in ignored.items() if given]
    for i, ip in enumerate(spec.get("externalIPs") or ()):
        texts += ip_warnings(_SPEC.child("externalIPs").index(i), ip)
    if spec.get("loadBalancerIP"):
        texts += ip_warnings(_SPEC.child("loadBalancerIP"), spec["loadBalancerIP"])
    for i, cidr in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        texts += cidr_warnings(_SPEC.child("loadBalancerSourceRanges").index(i), cidr)
    named = spec.get("type") == "ExternalName"
    if named and spec.get("externalIPs"):
        texts.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not named and spec.get("externalName"):
        texts.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        texts.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return texts


def status_warnings(new: Obj, old: Obj) -> list[str]:
    path = Path("status.loadBalancer.ingress")
    return [
        text for i, ingress in enumerate(_ingresses(new)) for text in ip_warnings(path.index(i), ingress.get("ip", ""))
    ]


def fields(service: Obj) -> dict[str, str]:
    spec = service["spec"]
    own = {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}
    return metadata_fields(service) | own


STRATEGIES: Final = {
    ("", "services"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate,
        warn_create=warnings,
        canonicalize=canonicalize,
        update=UpdateStrategy(prepare_update, validate_update, lambda new, old: warnings(new)),
        subresources={"status": UpdateStrategy(keep_spec, validate_status, status_warnings)},
        create_on_update=True,
        fields=fields,
        field_labels=frozenset({"metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"}),
        unsupported_field=unsupported_label,
        reset_fields={"": (("status",),), "status": (("spec",),)},
        delete_returns_object=True,
    )
}
