"""The tables of networking, discovery and API aggregation kinds."""

from __future__ import annotations

import datetime as dt
from typing import Final

from jobrelay.kinds.tables.columns import AGE, Column, Obj, TableSpec, at, col, field, table
from jobrelay.kinds.tables.texts import NONE, SHOWN, condition_of, selector_text, shortened

_EMPTY_PORTS: Final = (
    " When ports is empty, it indicates that there are no defined ports. When a port is defined with a nil port "
    "value, it"
    ' indicates "all ports".'
)
_POD_SELECTOR_EDITS: Final = (
    ("podSelector selects", "Selects"),
    ("applies. The array of rules", "applies.  The array of ingress rules"),
    (" An empty selector matches all pods in the policy's namespace.", ""),
    ("pods. In this case", "pods.  In this case"),
    ("This field is optional.", "This field is NOT optional and follows standard label selector semantics."),
    (
        " If it is not specified, it defaults to an empty selector.",
        " An empty podSelector matches all pods in this namespace.",
    ),
)


def _hosts(ingress: Obj, now: dt.datetime) -> str:
    rules = ingress["spec"].get("rules") or ()
    found: list[str] = []
    more = False
    for rule in rules:
        more = more or len(found) == SHOWN
        if not more and rule.get("host"):
            found.append(rule["host"])
    if not found:
        return "*"
    return ",".join(found) + (f" + {len(rules) - SHOWN} more..." if more else "")


def _address(ingress: Obj, now: dt.datetime) -> str:
    entries = ((ingress.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(sorted({entry.get("ip") or entry.get("hostname") or "" for entry in entries} - {""}))


def _ingress_ports(ingress: Obj, now: dt.datetime) -> str:
    return "80, 443" if ingress["spec"].get("tls") else "80"


def _parameters(ingress_class: Obj, now: dt.datetime) -> str:
    ref = (ingress_class.get("spec") or {}).get("parameters")
    if ref is None:
        return NONE
    group = f".{ref['apiGroup']}" if ref.get("apiGroup") is not None else ""
    return f"{ref.get('kind', '')}{group}/{ref.get('name', '')}"


def _parent(address: Obj, now: dt.datetime) -> str:
    ref = (address.get("spec") or {}).get("parentRef")
    if ref is None:
        return NONE
    group = f".{ref['group']}" if ref.get("group") else ""
    parts = [(ref.get("resource", "") + group).lower(), ref.get("namespace", ""), ref.get("name", "")]
    return "/".join(part for i, part in enumerate(parts) if part or i != 1)


def _slice_ports(obj: Obj, now: dt.datetime) -> str:
    ports = []
    for port in obj.get("ports") or ():
        number, name = port.get("port"), port.get("name")
        ports.append(str(number) if number is not None else name if name is not None else "*")
    return shortened(ports)


def _slice_endpoints(obj: Obj, now: dt.datetime) -> str:
    return shortened([a for endpoint in obj.get("endpoints") or () for a in endpoint.get("addresses") or ()])


def _service(obj: Obj, now: dt.datetime) -> str:
    service = (obj.get("spec") or {}).get("service")
    return f"{service.get('namespace', '')}/{service.get('name', '')}" if service is not None else "Local"


def _available(obj: Obj, now: dt.datetime) -> str:
    condition = condition_of((obj.get("status") or {}).get("conditions"), "Available")
    if condition is None:
        return "Unknown"
    status: str = condition.get("status", "")
    return f"{status} ({condition['reason']})" if status != "True" and condition.get("reason") else status


_INGRESSES: Final = table(
    col(
        "Class",
        at("spec.ingressClassName", NONE),
        text="The name of the IngressClass resource that should be used for additional configuration",
    ),
    col("Hosts", _hosts, text="Hosts that incoming requests are matched against before the ingress rule"),
    col("Address", _address, text="Address is a list containing ingress points for the load-balancer"),
    col("Ports", _ingress_ports, text="Ports of TLS configurations that open"),
    AGE,
)

_ENDPOINT_SLICES: Final = table(
    field("AddressType", "addressType", "discovery.v1.EndpointSlice", edits=((" \\(Deprecated\\).*", ""),)),
    col(
        "Ports",
        _slice_ports,
        "discovery.v1.EndpointSlice.ports",
        edits=((" Services always .*", ""), (" Each slice", f"{_EMPTY_PORTS} Each slice")),
    ),
    col("Endpoints", _slice_endpoints, "discovery.v1.EndpointSlice.endpoints"),
    AGE,
)

TABLES: Final[dict[tuple[str, str], TableSpec]] = {
    ("networking.k8s.io", "ingresses"): _INGRESSES,
    ("networking.k8s.io", "ingressclasses"): table(
        col("Controller", "spec.controller", text="Controller that is responsible for handling this class"),
        col("Parameters", _parameters, text="A reference to a resource with additional parameters"),
        AGE,
    ),
    ("networking.k8s.io", "ipaddresses"): table(
        col("ParentRef", _parent, "networking.v1.IPAddressSpec.parentRef"),
        Column(name="Age", cell=AGE.cell, hidden=True),
    ),
    ("networking.k8s.io", "networkpolicies"): table(
        col(
            "Pod-Selector",
            lambda obj, now: selector_text((obj.get("spec") or {}).get("podSelector") or {}),
            "networking.v1.NetworkPolicySpec.podSelector",
            edits=_POD_SELECTOR_EDITS,
        ),
        AGE,
    ),
    ("networking.k8s.io", "servicecidrs"): table(
        col(
            "CIDRs",
            lambda obj, now: ",".join((obj.get("spec") or {}).get("cidrs") or ()),
            "networking.v1.ServiceCIDRSpec.cidrs",
        ),
        AGE,
    ),
    ("discovery.k8s.io", "endpointslices"): _ENDPOINT_SLICES,
    ("apiregistration.k8s.io", "apiservices"): table(
        col("Service", _service, text="The reference to the service that hosts this API endpoint."),
        col("Available", _available, text="Whether this service is available."),
        AGE,
    ),
}
