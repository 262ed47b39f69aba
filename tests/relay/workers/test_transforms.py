from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jobrelay.kube import Object, ProtocolError
from jobrelay.kube.objects import decode_object
from jobrelay.relay.placement.capacity import POD_OWNER
from jobrelay.relay.workers import strip_managed_fields
from jobrelay.relay.workers.transforms import checked_mirror, node_for_capacity, pod_for_capacity
from jobrelay.workloads import JobAdapter

OWNER = JobAdapter().pod_owner
METADATA = {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}}


def made(**parts: Any) -> Object:
    return decode_object(msgspec.json.encode({"metadata": METADATA, **parts}))


def test_managed_fields_are_dropped_and_nothing_else() -> None:
    obj = made(kind="Job", spec={"text": "managedFields"}, metadata=METADATA | {"managedFields": [{"manager": "m"}]})
    light = strip_managed_fields(obj)
    assert light.decode() == {"kind": "Job", "metadata": METADATA, "spec": {"text": "managedFields"}}
    assert light.metadata == obj.metadata


def test_an_object_without_them_is_left_alone() -> None:
    obj = made(kind="Job")
    assert strip_managed_fields(obj) is obj


@pytest.mark.parametrize(
    "parts", [{"kind": "Pod"}, {}, {"kind": "Job", "metadata": {}}, {"kind": "Job", "metadata": {"name": "a"}}]
)
def test_what_is_not_a_job_is_nonsense(parts: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="where a Job"):
        checked_mirror(made(**parts), "Job")


def test_of_a_pod_its_requests_node_and_phase_are_kept() -> None:
    container = {"name": "c", "image": "i", "env": [{"name": "A"}], "resources": {"requests": {"cpu": "1"}}}
    waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    pod = made(
        spec={"nodeName": "n", "containers": [container], "volumes": [{}]},
        status={"phase": "Pending", "podIP": "1.2.3.4", "conditions": [waiting, {"type": "Ready", "status": "False"}]},
    )
    assert pod_for_capacity(pod, OWNER).decode() == {
        "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Pending", "conditions": [waiting]},
    }
    assert pod_for_capacity(pod, OWNER).metadata.labels == {}


def test_of_a_pod_its_owner_is_kept() -> None:
    pod = made(metadata=METADATA | {"labels": {"x": "y", "batch.kubernetes.io/controller-uid": "j"}})
    assert pod_for_capacity(pod, OWNER).metadata.labels == {POD_OWNER: "j"}
    assert pod_for_capacity(pod, OWNER).key == pod.key


def test_of_a_node_its_room_and_taints_are_kept() -> None:
    taint = {"key": "gpu", "effect": "NoSchedule"}
    node = made(
        spec={"taints": [taint], "unschedulable": True, "podCIDR": "10.0.0.0/24"},
        status={"allocatable": {"cpu": "4"}, "images": [{"names": ["large"]}]},
    )
    assert node_for_capacity(node).decode() == {
        "spec": {"taints": [taint], "unschedulable": True},
        "status": {"allocatable": {"cpu": "4"}},
    }


def test_a_pod_that_makes_no_sense_is_nonsense() -> None:
    with pytest.raises(ProtocolError):
        pod_for_capacity(made(spec={"containers": "many"}), OWNER)
