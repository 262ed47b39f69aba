"""Values as they appear inside the server's error texts, where they are Go structs and not API objects.

A field error about a whole struct prints the struct of the server's internal version: every field, set or not, under
its Go name and in Go's order. Those structs equal the public ones but for the few that `_ORDER` lists. Types of
apimachinery (metadata, selectors, quantities) print as they do in the API.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from jobrelay.apimachinery.decode import zero
from jobrelay.apimachinery.types import Field, Type, type_of

_CORE: Final = "io.k8s.api.core.v1."
_PUBLIC: Final = "io.k8s.apimachinery."
LABEL_SELECTOR: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"
POD_TEMPLATE: Final = _CORE + "PodTemplateSpec"
_HOST_FIELDS: Final = ("HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers")
_ORDER: Final[dict[str, str]] = {
    _CORE + "PodSpec": """
        Volumes InitContainers Containers EphemeralContainers RestartPolicy TerminationGracePeriodSeconds
        ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName AutomountServiceAccountToken NodeName
        SecurityContext ImagePullSecrets Hostname Subdomain SetHostnameAsFQDN Affinity SchedulerName Tolerations
        HostAliases PriorityClassName Priority PreemptionPolicy DNSConfig ReadinessGates RuntimeClassName Overhead
        EnableServiceLinks TopologySpreadConstraints OS SchedulingGates ResourceClaims Resources HostnameOverride
        WorkloadRef""",
    _CORE + "PodSecurityContext": """
        SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy
        FSGroup FSGroupChangePolicy Sysctls SeccompProfile AppArmorProfile SELinuxChangePolicy""",
    _CORE + "VolumeSource": """
        HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo Secret NFS ISCSI Glusterfs
        PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS Flocker DownwardAPI FC AzureFile ConfigMap
        VsphereVolume AzureDisk PhotonPersistentDisk Projected PortworxVolume ScaleIO StorageOS CSI Ephemeral Image""",
    _CORE + "PersistentVolumeSource": """
        GCEPersistentDisk AWSElasticBlockStore HostPath Glusterfs NFS RBD Quobyte ISCSI FlexVolume Cinder CephFS FC
        Flocker AzureFile VsphereVolume AzureDisk PhotonPersistentDisk PortworxVolume ScaleIO Local StorageOS CSI""",
}


def json_value(value: Any) -> msgspec.Raw:
    """A value that Go prints as JSON instead of quoting it, such as a string behind a pointer."""
    return msgspec.Raw(msgspec.json.encode(value))


def struct_value(value: Any, type_name: str) -> msgspec.Raw | None:
    """A struct of the API, given in canonical form, as an error text shows it; None stays null."""
    return None if value is None else json_value(_render(value, type_of(type_name)))


def _render(value: Any, type_: Type) -> Any:
    if value is None:
        return None
    if type_.kind == "struct":
        return _public(value, type_) if type_.name.startswith(_PUBLIC) else _struct(value, type_)
    if type_.kind == "list":
        assert type_.elem is not None
        return [_render(item, type_.elem) for item in value]
    if type_.kind == "map":
        assert type_.elem is not None
        return {key: _render(value[key], type_.elem) for key in sorted(value)}
    return value


def _struct(value: dict[str, Any], type_: Type) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in _declared(type_):
        if field.inline:
            out |= _struct(value, field.type) if not field.type.name.startswith(_PUBLIC) else _public(value, field.type)
        elif field.go == "ObjectMeta":
            out |= _public(value.get(field.name) or {}, field.type)
        elif field.name in value:
            out[field.go] = _render(value[field.name], field.type)
        else:
            out[field.go] = _render(zero(field.type), field.type)
    if type_.name == _CORE + "PodSpec" and out["SecurityContext"] is not None:
        out["SecurityContext"] = _host_fields(value, type_) | out["SecurityContext"]
    return out


def _host_fields(value: dict[str, Any], type_: Type) -> dict[str, Any]:
    """The pod's host settings, which the internal version keeps in the security context."""
    by_go_name = {field.go: field for field in type_.declared}
    fields = [by_go_name[name] for name in _HOST_FIELDS]
    return {field.go: value.get(field.name, zero(field.type)) for field in fields}


def _declared(type_: Type) -> list[Field]:
    order = _ORDER.get(type_.name)
    if order is None:
        return list(type_.declared)
    by_go_name = {field.go: field for field in type_.declared}
    return [by_go_name[name] for name in order.split()]


def _public(value: dict[str, Any], type_: Type) -> dict[str, Any]:
    return {name: _render(value[name], field.type) for name, field in type_.fields.items() if name in value}
