"""What a new cluster holds before anyone has written to it: namespaces, policy, priorities, its own service.

The real server creates these itself, each under a field manager of its own. `bootstrap` lists them in an order in
which they can be created, as a client would write them: defaults and everything that is filled in come from creating
them. The rules of the aggregated roles (admin, edit, view) are left to aggregation, as on the real server.
"""

from __future__ import annotations

import datetime as dt
import functools
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.times import UTC
from jobrelay.kinds.context import request_time
from jobrelay.kinds.scheduling.priorityclasses import SYSTEM_CLASSES
from jobrelay.kinds.strategy import Obj

API_SERVER: Final = "kube-apiserver"
FLOW_PRODUCER: Final = "api-priority-and-fairness-config-producer-v1"
FLOW_CONSUMER: Final = "api-priority-and-fairness-config-consumer-v1"
NAMESPACES: Final = ("kube-system", "kube-public", "kube-node-lease", "default")
SERVICE_RANGE: Final = "10.0.0.0/24"
SERVICE_IP: Final = "10.0.0.1"
_DESCRIPTIONS: Final = {
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
}
_API_SERVICES: Final = {
    # version.group: (the group's priority, the version's)
    "v1.": (18000, 1),
    "v1.admissionregistration.k8s.io": (16700, 15),
    "v1.apiextensions.k8s.io": (16700, 15),
    "v1.apps": (17800, 15),
    "v1.authentication.k8s.io": (17700, 15),
    "v1.authorization.k8s.io": (17600, 15),
    "v1.autoscaling": (17500, 15),
    "v2.autoscaling": (17500, 30),
    "v1.batch": (17400, 15),
    "v1.certificates.k8s.io": (17300, 15),
    "v1.coordination.k8s.io": (16500, 15),
    "v1.discovery.k8s.io": (16200, 15),
    "v1.events.k8s.io": (17750, 15),
    "v1.flowcontrol.apiserver.k8s.io": (16100, 21),
    "v1.networking.k8s.io": (17200, 15),
    "v1.node.k8s.io": (16300, 15),
    "v1.policy": (17100, 15),
    "v1.rbac.authorization.k8s.io": (17000, 15),
    "v1.resource.k8s.io": (16200, 21),
    "v1.scheduling.k8s.io": (16600, 15),
    "v1.storage.k8s.io": (16800, 15),
}


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """An object, the field manager that creates it, and the status that another manager applies right after."""

    object: Obj
    manager: str = API_SERVER
    status: dict[str, Any] | None = None
    status_manager: str = ""


def _object(api_version: str, kind: str, metadata: dict[str, Any], **fields: Any) -> Obj:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


@functools.cache
def _data(name: str) -> bytes:
    return resources.files("jobrelay.kinds").joinpath(f"data/{name}").read_bytes()


def _from_data(name: str, api_version: str) -> list[Obj]:
    kinds: dict[str, list[dict[str, Any]]] = msgspec.json.decode(_data(name))
    return [{"apiVersion": api_version, "kind": kind, **item} for kind, items in kinds.items() for item in items]


def policy() -> list[Obj]:
    """The roles and bindings of a fresh cluster."""
    return _from_data("bootstrap-rbac.json", "rbac.authorization.k8s.io/v1")


def bootstrap_objects(port: int = 6443) -> list[Obj]:
    return [entry.object for entry in bootstrap(port)]


def bootstrap(port: int = 6443, now: dt.datetime | None = None) -> list[Bootstrap]:
    """Everything, in order; `port` is where the API server listens."""
    objects = [_object("v1", "Namespace", {"name": name}) for name in NAMESPACES]
    objects += _api_services() + _priority_classes() + policy()
    entries = [Bootstrap(item) for item in objects]
    since = (now or dt.datetime.now(UTC)).strftime("%Y-%m-%d")
    tracking = {"name": "kube-apiserver-legacy-service-account-token-tracking", "namespace": "kube-system"}
    entries.append(Bootstrap(_object("v1", "ConfigMap", tracking, data={"since": since})))
    return entries + _flow_control() + _service(port)


def _priority_classes() -> list[Obj]:
    return [
        _object("scheduling.k8s.io/v1", "PriorityClass", {"name": name}, value=value, description=_DESCRIPTIONS[name])
        for name, value in SYSTEM_CLASSES.items()
    ]


def _api_services() -> list[Obj]:
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": request_time(),
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    made: list[Obj] = []
    for name, (group_priority, version_priority) in _API_SERVICES.items():
        version, _, group = name.partition(".")
        metadata = {"name": name, "labels": {"kube-aggregator.kubernetes.io/automanaged": "onstart"}}
        spec = {"version": version, "groupPriorityMinimum": group_priority, "versionPriority": version_priority}
        spec |= {"group": group} if group else {}
        status = {"conditions": [dict(available)]}
        made.append(_object("apiregistration.k8s.io/v1", "APIService", metadata, spec=spec, status=status))
    return made


def _flow_control() -> list[Bootstrap]:
    entries: list[Bootstrap] = []
    for item in _from_data("bootstrap-flowcontrol.json", "flowcontrol.apiserver.k8s.io/v1"):
        if item["kind"] != "FlowSchema":
            entries.append(Bootstrap(item, FLOW_PRODUCER))
            continue
        level = item["spec"]["priorityLevelConfiguration"]["name"]
        message = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" and it exists'
        status = _condition("Dangling", "False", message, reason="Found")
        entries.append(Bootstrap(item, FLOW_PRODUCER, status, FLOW_CONSUMER))
    return entries


def _condition(kind: str, status: str, message: str, **more: str) -> dict[str, Any]:
    condition = {"type": kind, "status": status, "lastTransitionTime": request_time(), "message": message, **more}
    return {"conditions": [condition]}


def _service(port: int) -> list[Bootstrap]:
    """The API server's own service, its address, and the range that addresses come from."""
    cidr = _object("networking.k8s.io/v1", "ServiceCIDR", {"name": "kubernetes"}, spec={"cidrs": [SERVICE_RANGE]})
    ready = _condition("Ready", "True", "Kubernetes default Service CIDR is ready")
    labels = {"component": "apiserver", "provider": "kubernetes"}
    spec = {
        "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
        "clusterIP": SERVICE_IP,
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilyPolicy": "SingleStack",
    }
    service = _object("v1", "Service", {"name": "kubernetes", "namespace": "default", "labels": labels}, spec=spec)
    return [
        Bootstrap(cidr, API_SERVER, ready, "kubernetes-service-cidr-controller"),
        Bootstrap(service),
        Bootstrap(ip_address(SERVICE_IP, "default", "kubernetes")),
    ]


def ip_address(ip: str, namespace: str, service: str) -> Obj:
    """The object that records which service has an address."""
    labels = {"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
    reference = {"resource": "services", "namespace": namespace, "name": service}
    return _object("networking.k8s.io/v1", "IPAddress", {"name": ip, "labels": labels}, spec={"parentRef": reference})
