"""kubectl delete with each propagation, selection and patience."""

from __future__ import annotations

from typing import Any

import pytest

from .kubectl import Kubectl
from .objects import config_map, job, pod

pytestmark = pytest.mark.kubectl


def held(name: str) -> dict[str, Any]:
    """A ConfigMap that stays until its finalizer is taken off."""
    made = config_map(name)
    made["metadata"]["finalizers"] = ["example.com/hold"]
    return made


def release(kubectl: Kubectl, *objects: str) -> None:
    kubectl("patch", *objects, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_delete_waits_until_it_is_gone(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    assert 'configmap "a" deleted' in kubectl("delete", "configmap", "a")
    assert "NotFound" in kubectl.error("get", "cm", "a")


@pytest.mark.parametrize("propagation", ["background", "foreground", "orphan"])
def test_each_propagation_ends(kubectl: Kubectl, propagation: str) -> None:
    kubectl("create", "-f", "-", given=job("j"))
    kubectl("delete", "job", "j", f"--cascade={propagation}")
    assert kubectl("get", "jobs", "-o", "name") == ""


def test_foreground_deletion_leaves_what_a_finalizer_holds(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=held("a"))
    kubectl("delete", "cm", "a", "--cascade=foreground", "--wait=false")
    metadata = kubectl.object("get", "cm", "a")["metadata"]
    assert "deletionTimestamp" in metadata
    assert "example.com/hold" in metadata["finalizers"]
    release(kubectl, "cm", "a")


def test_orphan_deletion_leaves_what_the_owner_owned(kubectl: Kubectl) -> None:
    owner = kubectl.object("create", "-f", "-", given=job("j"))
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": owner["metadata"]["uid"]}
    ]
    kubectl("create", "-f", "-", given=child)
    kubectl("delete", "job", "j", "--cascade=orphan", "--wait=false")
    assert kubectl("get", "cm", "child", "-o", "name") == "configmap/child\n"


def test_finalizers_hold_an_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=held("a"))
    assert "timed out waiting for the condition" in kubectl.error("delete", "cm", "a", "--timeout=1s")
    assert kubectl.value(".metadata.deletionTimestamp", "cm", "a")
    release(kubectl, "cm", "a")
    assert "NotFound" in kubectl.error("get", "cm", "a")


def test_delete_without_waiting(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=held("a"))
    kubectl("delete", "cm", "a", "--wait=false")
    assert kubectl.value(".metadata.deletionTimestamp", "cm", "a")
    release(kubectl, "cm", "a")


def test_by_label(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[config_map("a", labels={"x": "1"}), config_map("b", labels={"x": "2"})])
    kubectl("delete", "cm", "-l", "x=1")
    assert kubectl("get", "cm", "-l", "x", "-o", "name") == "configmap/b\n"


def test_all_of_a_kind(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[job("a"), job("b"), job("c")])
    assert kubectl("delete", "jobs", "--all").count("deleted") == 3


def test_objects_of_a_file(kubectl: Kubectl) -> None:
    given = [config_map("a"), job("j")]
    kubectl("create", "-f", "-", given=given)
    assert kubectl("delete", "-f", "-", given=given).count("deleted") == 2


def test_what_is_not_there(kubectl: Kubectl) -> None:
    assert 'jobs.batch "x" not found' in kubectl.error("delete", "job", "x")
    assert kubectl("delete", "job", "x", "--ignore-not-found") == ""


def test_a_dry_run_keeps_the_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    assert "(server dry run)" in kubectl("delete", "cm", "a", "--dry-run=server")
    assert kubectl("get", "cm", "a", "-o", "name") == "configmap/a\n"


def test_a_pod_without_a_node_goes_at_once(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=pod("p"))
    kubectl("delete", "pod", "p")
    assert "NotFound" in kubectl.error("get", "pod", "p")


def test_a_bound_pod_stays_for_its_grace_period_and_goes_by_force(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=pod("p", nodeName="somewhere"))
    kubectl("delete", "pod", "p", "--grace-period=40", "--wait=false")
    assert kubectl.value(".metadata.deletionGracePeriodSeconds", "pod", "p") == "40"
    done = kubectl.run("delete", "pod", "p", "--grace-period=0", "--force")
    assert "Immediate deletion does not wait for confirmation" in done.stderr
    assert "NotFound" in kubectl.error("get", "pod", "p")


def test_delete_now(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=pod("p", nodeName="somewhere"))
    kubectl("delete", "pod", "p", "--now", "--wait=false")
    assert kubectl.value(".metadata.deletionGracePeriodSeconds", "pod", "p") == "1"
    kubectl("delete", "pod", "p", "--grace-period=0", "--force")


def test_a_namespace_goes_with_what_is_in_it(kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-extra"
    kubectl("create", "namespace", name)
    kubectl.within(name)("create", "configmap", "a")
    kubectl("delete", "namespace", name)
    assert "NotFound" in kubectl.error("get", "namespace", name)


def test_a_protected_namespace(admin: Kubectl) -> None:
    error = admin.error("delete", "namespace", "default")
    assert 'namespaces "default" is forbidden: this namespace may not be deleted' in error


def test_raw(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    kubectl("delete", "--raw", f"/api/v1/namespaces/{kubectl.namespace}/configmaps/a")
    assert "NotFound" in kubectl.error("get", "cm", "a")
