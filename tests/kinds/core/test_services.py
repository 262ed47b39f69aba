"""Cluster IPs, node ports and what depends on a service's type."""

from __future__ import annotations

import random
from typing import Any

import pytest

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds.core.serviceaddresses import Pool, TakenError, begin_create, begin_update, needs_cluster_ip
from jobrelay.kinds.core.services import STRATEGIES

SERVICES = STRATEGIES["", "services"]


def service(**spec: Any) -> dict[str, Any]:
    kind = type_for_kind("v1", "Service")
    assert kind is not None
    spec.setdefault("ports", [{"port": 80}])
    metadata = {"name": "s", "namespace": "n", "resourceVersion": "1"}
    made: dict[str, Any] = decode({"metadata": metadata, "spec": spec}, kind)
    SERVICES.default(made)
    return made


def stored(**spec: Any) -> dict[str, Any]:
    made = service(**spec)
    assert begin_create(made, pool()) == []
    SERVICES.prepare_create(made)
    SERVICES.canonicalize(made)
    return made


def pool(*services: dict[str, Any]) -> Pool:
    return Pool(services, choose=random.Random(7))


def test_defaults_of_a_plain_service() -> None:
    spec = stored()["spec"]
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert (spec["type"], spec["sessionAffinity"], spec["internalTrafficPolicy"]) == ("ClusterIP", "None", "Cluster")
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")
    assert spec["clusterIPs"] == [spec["clusterIP"]]


def test_external_name_needs_no_address() -> None:
    made = stored(type="ExternalName", externalName="example.com", ports=[])
    assert not needs_cluster_ip(made)
    assert (
        not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"} & made["spec"].keys()
    )


def test_headless_service_without_selector_speaks_both_families() -> None:
    spec = stored(clusterIP="None")["spec"]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


def test_address_of_another_service_is_refused() -> None:
    other = stored(clusterIP="10.0.0.9")
    errors = begin_create(service(clusterIP="10.0.0.9"), pool(other))
    text = "failed to allocate IP 10.0.0.9: provided IP is already allocated"
    assert [error.text() for error in errors] == [f'spec.clusterIPs: Invalid value: ["10.0.0.9"]: {text}']


def test_node_port_out_of_range_is_the_only_error() -> None:
    errors = begin_create(service(type="NodePort", ports=[{"port": 0, "nodePort": 5}]), pool())
    text = "provided port is not in the valid range. The range of valid ports is 30000-32767"
    assert [error.text() for error in errors] == [f"spec.ports[0].nodePort: Invalid value: 5: {text}"]


def test_protocols_of_one_port_share_the_node_port() -> None:
    ports = [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]
    first, second = stored(type="NodePort", ports=ports)["spec"]["ports"]
    assert first["nodePort"] == second["nodePort"] >= 30000


def test_update_without_address_keeps_it() -> None:
    old, new = stored(), service()
    assert begin_update(new, old, pool(old)) == []
    assert new["spec"]["clusterIPs"] == old["spec"]["clusterIPs"]


def test_address_cannot_change() -> None:
    old, new = stored(clusterIP="10.0.0.9"), service(clusterIP="10.0.0.10")
    assert begin_update(new, old, pool(old)) == []
    SERVICES.update.prepare(new, old)
    errors = [error.text() for error in SERVICES.update.validate(new, old)]
    assert errors == ['spec.clusterIPs[0]: Invalid value: ["10.0.0.10"]: may not change once set']


def test_node_ports_go_with_the_type() -> None:
    old = stored(type="NodePort")
    new = service(ports=[dict(port) for port in old["spec"]["ports"]], externalTrafficPolicy="Cluster")
    assert begin_update(new, old, pool(old)) == []
    SERVICES.update.prepare(new, old)
    assert "nodePort" not in new["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in new["spec"]
    assert SERVICES.update.validate(new, old) == []


def test_full_range() -> None:
    small = Pool(network="10.0.0.0/30", choose=random.Random(1))
    assert sorted([small.take_ip(), small.take_ip()]) == ["10.0.0.1", "10.0.0.2"]
    with pytest.raises(TakenError, match="range is full"):
        small.take_ip()
