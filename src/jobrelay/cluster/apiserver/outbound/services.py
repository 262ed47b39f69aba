"""From a target to a loopback address.

Cluster IPs lead nowhere on an embedded cluster, so a Service is resolved to an endpoint, as a real server does with
`--enable-aggregator-routing`: a ready endpoint of its EndpointSlices, or of its Endpoints where it has no slices, or
else a ready pod that its selector selects. An ExternalName has to be `localhost` or a loopback address, as the host of
a URL has to be. Anything else is refused: what runs on this machine does not reach out of it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.selectors import selector_from_labels
from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.outbound.failures import OutboundError
from jobrelay.cluster.apiserver.outbound.targets import CallTarget, ServiceReference
from jobrelay.cluster.store import Store

Fields = Mapping[str, Any]
_SERVICE_NAME: Final = "kubernetes.io/service-name"
_SLICES: Final = "endpointslices.discovery.k8s.io"


class ServiceEndpoint(NamedTuple):
    """An address to connect to, and the name that its certificate has to be valid for."""

    address: str
    port: int
    host: str

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def resolve(store: Store, target: CallTarget) -> ServiceEndpoint:
    """Where a target is now; raises OutboundError."""
    if target.service is None:
        url = urlsplit(target.origin)
        host = url.hostname or ""
        return ServiceEndpoint(_loopback(host), url.port or (443 if url.scheme == "https" else 80), host)
    reference = target.service
    item = store.get("services", reference.namespace, reference.name)
    if item is None:
        raise OutboundError(f"service {go_quote(reference.name)} not found")
    service: Fields = represent.cached(item.raw)
    if service["spec"].get("type") == "ExternalName":
        return ServiceEndpoint(_loopback(service["spec"].get("externalName", "")), reference.port, reference.host)
    for address, port in _endpoints(store, reference, service, _service_port(reference, service)):
        return ServiceEndpoint(_loopback(address), port, reference.host)
    raise OutboundError(f"no endpoints available for service {go_quote(reference.name)}")


def _loopback(host: str) -> str:
    """A host as a loopback address."""
    if host.rstrip(".").lower() == "localhost" or host.rstrip(".").lower().endswith(".localhost"):
        return "127.0.0.1"
    try:
        if ipaddress.ip_address(host).is_loopback:
            return host
    except ValueError:
        pass
    raise OutboundError(f"{host} is not on loopback, and an embedded cluster calls nothing else")


def _service_port(reference: ServiceReference, service: Fields) -> Fields:
    for port in service["spec"].get("ports") or ():
        if port["port"] == reference.port:
            return dict(port)
    raise OutboundError(f"no service port {reference.port} found for service {go_quote(reference.name)}")


def _endpoints(store: Store, reference: ServiceReference, service: Fields, port: Fields) -> Iterator[tuple[str, int]]:
    slices = [
        found for found in _walk(store, _SLICES, reference.namespace)
        if (found["metadata"].get("labels") or {}).get(_SERVICE_NAME) == reference.name
    ]  # fmt: skip
    endpoints = store.get("endpoints", reference.namespace, reference.name)
    if slices:
        yield from _of_slices(slices, port.get("name", ""))
    elif endpoints is not None:
        yield from _of_endpoints(represent.cached(endpoints.raw), port.get("name", ""))
    elif selector := service["spec"].get("selector"):
        matches = selector_from_labels(selector).matches
        pods = _walk(store, "pods", reference.namespace)
        yield from _of_pods((pod for pod in pods if matches(pod["metadata"].get("labels") or {})), port)


def _walk(store: Store, key: str, namespace: str) -> Iterator[Fields]:
    return (represent.cached(item.raw) for item in store.snapshot(key).walk(namespace))


def _of_slices(slices: Iterable[Fields], name: str) -> Iterator[tuple[str, int]]:
    for found in slices:
        ports = [port["port"] for port in found.get("ports") or () if port.get("name", "") == name and port.get("port")]
        for endpoint in found.get("endpoints") or ():
            if ports and (endpoint.get("conditions") or {}).get("ready") is not False:
                yield endpoint["addresses"][0], ports[0]


def _of_endpoints(endpoints: Fields, name: str) -> Iterator[tuple[str, int]]:
    for subset in endpoints.get("subsets") or ():
        ports = [port["port"] for port in subset.get("ports") or () if port.get("name", "") == name]
        for address in subset.get("addresses") or ():
            if ports:
                yield address["ip"], ports[0]


def _of_pods(pods: Iterable[Fields], port: Fields) -> Iterator[tuple[str, int]]:
    wanted = port.get("targetPort") or port["port"]
    for pod in pods:
        status = pod.get("status") or {}
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or ())
        number = wanted if isinstance(wanted, int) else _named_port(pod, wanted)
        if ready and number and status.get("podIP"):
            yield status["podIP"], number


def _named_port(pod: Fields, name: str) -> int:
    ports = (port for container in pod["spec"]["containers"] for port in container.get("ports") or ())
    return next((port["containerPort"] for port in ports if port.get("name") == name), 0)
