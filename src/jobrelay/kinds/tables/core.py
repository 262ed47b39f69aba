"""The tables of the core kinds other than pods and events."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from jobrelay.kinds.tables.columns import AGE, PLAIN, Obj, TableSpec, at, col, count, field, table, wide
from jobrelay.kinds.tables.texts import NONE, UNSET, condition_of, container_images, container_names, labels_text

_ROLE_LABEL: Final = "kubernetes.io/role"
_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_ACCESS_MODES: Final = {
    "ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP",
}  # fmt: skip
_SHOWN_ENDPOINTS: Final = 3
_COMPONENT: Final = "{} of the component conditions"


def _component_condition(obj: Obj) -> Obj:
    return condition_of(obj.get("conditions"), "Healthy") or {}


def _component_status(obj: Obj, now: dt.datetime) -> str:
    status = _component_condition(obj).get("status")
    if status is None:
        return "Unknown"
    return "Healthy" if status == "True" else "Unhealthy"


def _entries(obj: Obj, now: dt.datetime) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def _endpoints(obj: Obj, now: dt.datetime) -> str:
    subsets = obj.get("subsets") or ()
    if not subsets:
        return NONE
    found: list[str] = []
    for subset in subsets:
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports: list[Obj] = subset.get("ports") or [{}]
        for port in ports:
            found += [_host_port(address, port.get("port")) for address in addresses]
    text = ",".join(found[:_SHOWN_ENDPOINTS])
    return f"{text} + {len(found) - _SHOWN_ENDPOINTS} more..." if len(found) > _SHOWN_ENDPOINTS else text


def _host_port(address: str, port: int | None) -> str:
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _node_status(node: Obj, now: dt.datetime) -> str:
    conditions = {condition["type"]: condition for condition in (node.get("status") or {}).get("conditions") or ()}
    ready = conditions.get("Ready")
    status = "Unknown"
    if ready is not None:
        status = "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else status


def _node_roles(node: Obj, now: dt.datetime) -> str:
    roles = set()
    for key, value in (node["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE_PREFIX):
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE_LABEL:
            roles.add(value)
    return ",".join(sorted(filter(None, roles))) or NONE


def _node_address(kind: str) -> Any:
    def cell(node: Obj, now: dt.datetime) -> str:
        addresses = (node.get("status") or {}).get("addresses") or ()
        return next((found.get("address", "") for found in addresses if found.get("type") == kind), NONE)

    return cell


def _node_info(name: str, default: str = "<unknown>") -> Any:
    find = at(f"status.nodeInfo.{name}")
    return lambda node, now: find(node, now) or default


def _modes(modes: list[str] | None) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in (modes or ()))


def _volume_phase(obj: Obj, now: dt.datetime) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    phase: str = (obj.get("status") or {}).get("phase", "")
    return phase


def _storage_class(obj: Obj, now: dt.datetime) -> str:
    annotated = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    name: str = annotated if annotated is not None else obj["spec"].get("storageClassName") or ""
    return name


def _claim(obj: Obj, now: dt.datetime) -> str:
    ref = obj["spec"].get("claimRef")
    return f"{ref.get('namespace', '')}/{ref.get('name', '')}" if ref is not None else ""


def _volume_size(obj: Obj, now: dt.datetime) -> str:
    size: str = (obj["spec"].get("capacity") or {}).get("storage", "0")
    return size


def _claim_size(obj: Obj, now: dt.datetime) -> str:
    if not obj["spec"].get("volumeName"):
        return ""
    size: str = (obj["status"].get("capacity") or {}).get("storage", "0")
    return size


def _claim_modes(obj: Obj, now: dt.datetime) -> str:
    return _modes(obj["status"].get("accessModes")) if obj["spec"].get("volumeName") else ""


def _quota(limits: bool) -> Any:
    def cell(obj: Obj, now: dt.datetime) -> str:
        status = obj.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        names = sorted(name for name in hard if name.startswith("limits.") is limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


def _external_ip(service: Obj, now: dt.datetime) -> str:
    spec, kind = service["spec"], service["spec"].get("type", "")
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind not in ("ClusterIP", "NodePort", "LoadBalancer"):
        return "<unknown>"
    addresses = list(spec.get("externalIPs") or ())
    if kind != "LoadBalancer":
        return ",".join(addresses) or NONE
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    given = sorted({entry.get("ip") or entry.get("hostname") or "" for entry in ingress} - {""})
    return ",".join(given + addresses) or "<pending>"


def _service_ports(service: Obj, now: dt.datetime) -> str:
    pieces = []
    for port in service["spec"].get("ports") or ():
        node_port = f":{port['nodePort']}" if port.get("nodePort", 0) > 0 else ""
        pieces.append(f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}")
    return ",".join(pieces) or NONE


def _cluster_ip(service: Obj, now: dt.datetime) -> str:
    addresses = service["spec"].get("clusterIPs") or [service["spec"].get("clusterIP") or NONE]
    return str(addresses[0])


CONTAINERS_TEXT: Final = "Names of each container in the template."
IMAGES_TEXT: Final = "Images referenced by each container in the template."

_NODES: Final = table(
    col("Status", _node_status, text="The status of the node"),
    col("Roles", _node_roles, text="The roles of the node"),
    AGE,
    col("Version", _node_info("kubeletVersion", ""), "core.v1.NodeSystemInfo.kubeletVersion"),
    wide("Internal-IP", _node_address("InternalIP"), "core.v1.NodeStatus.addresses"),
    wide("External-IP", _node_address("ExternalIP"), "core.v1.NodeStatus.addresses"),
    wide("OS-Image", _node_info("osImage"), "core.v1.NodeSystemInfo.osImage"),
    wide("Kernel-Version", _node_info("kernelVersion"), "core.v1.NodeSystemInfo.kernelVersion"),
    wide("Container-Runtime", _node_info("containerRuntimeVersion"), "core.v1.NodeSystemInfo.containerRuntimeVersion"),
)

_CLAIMS: Final = table(
    col("Status", _volume_phase, "core.v1.PersistentVolumeClaimStatus.phase"),
    field("Volume", "spec.volumeName", "core.v1.PersistentVolumeClaimSpec"),
    col("Capacity", _claim_size, "core.v1.PersistentVolumeClaimStatus.capacity"),
    col("Access Modes", _claim_modes, "core.v1.PersistentVolumeClaimStatus.accessModes"),
    col("StorageClass", _storage_class, text="StorageClass of the pvc"),
    col("VolumeAttributesClass", at("spec.volumeAttributesClassName", UNSET), text="VolumeAttributesClass of the pvc"),
    AGE,
    wide("VolumeMode", at("spec.volumeMode", UNSET), "core.v1.PersistentVolumeClaimSpec.volumeMode"),
)

_VOLUMES: Final = table(
    col("Capacity", _volume_size, "core.v1.PersistentVolumeSpec.capacity"),
    col(
        "Access Modes",
        lambda obj, now: _modes(obj["spec"].get("accessModes")),
        "core.v1.PersistentVolumeSpec.accessModes",
    ),
    field("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", "core.v1.PersistentVolumeSpec"),
    col("Status", _volume_phase, "core.v1.PersistentVolumeStatus.phase"),
    col("Claim", _claim, "core.v1.PersistentVolumeSpec.claimRef"),
    col("StorageClass", _storage_class, text="StorageClass of the pv"),
    col("VolumeAttributesClass", at("spec.volumeAttributesClassName", UNSET), text="VolumeAttributesClass of the pv"),
    field("Reason", "status.reason", "core.v1.PersistentVolumeStatus"),
    AGE,
    wide("VolumeMode", at("spec.volumeMode", UNSET), "core.v1.PersistentVolumeSpec.volumeMode"),
)

_SERVICES: Final = table(
    field("Type", "spec.type", "core.v1.ServiceSpec"),
    col("Cluster-IP", _cluster_ip, "core.v1.ServiceSpec.clusterIP"),
    col("External-IP", _external_ip, "core.v1.ServiceSpec.externalIPs"),
    col("Port(s)", _service_ports, "core.v1.ServiceSpec.ports"),
    AGE,
    wide("Selector", lambda obj, now: labels_text(obj["spec"].get("selector")), "core.v1.ServiceSpec.selector"),
)

_QUOTAS: Final = table(
    col(
        "Request", _quota(False), text="Request represents a minimum amount of cpu/memory that a container may consume."
    ),
    col(
        "Limit",
        _quota(True),
        text="Limits control the maximum amount of cpu/memory that a container may use independent of contention "
        "on the node.",
    ),
    AGE,
)

_POD_TEMPLATES: Final = table(
    col("Containers", lambda obj, now: container_names(obj["template"].get("spec")), text=CONTAINERS_TEXT),
    col("Images", lambda obj, now: container_images(obj["template"].get("spec")), text=IMAGES_TEXT),
    col(
        "Pod Labels",
        lambda obj, now: labels_text((obj["template"].get("metadata") or {}).get("labels")),
        text="The labels for the pod template.",
    ),
)

TABLES: Final[dict[tuple[str, str], TableSpec]] = {
    ("", "componentstatuses"): table(
        col("Status", _component_status, text=_COMPONENT.format("Status")),
        col(
            "Message", lambda obj, now: _component_condition(obj).get("message", ""), text=_COMPONENT.format("Message")
        ),
        col("Error", lambda obj, now: _component_condition(obj).get("error", ""), text=_COMPONENT.format("Error")),
    ),
    ("", "configmaps"): table(col("Data", _entries, "core.v1.ConfigMap.data"), AGE),
    ("", "endpoints"): table(col("Endpoints", _endpoints, "core.v1.Endpoints.subsets"), AGE),
    ("", "limitranges"): PLAIN,
    ("", "namespaces"): table(col("Status", "status.phase", text="The status of the namespace"), AGE),
    ("", "nodes"): _NODES,
    ("", "persistentvolumeclaims"): _CLAIMS,
    ("", "persistentvolumes"): _VOLUMES,
    ("", "podtemplates"): _POD_TEMPLATES,
    ("", "resourcequotas"): _QUOTAS,
    ("", "secrets"): table(
        field("Type", "type", "core.v1.Secret"), col("Data", count("data"), "core.v1.Secret.data"), AGE
    ),
    ("", "serviceaccounts"): table(AGE),
    ("", "services"): _SERVICES,
}
