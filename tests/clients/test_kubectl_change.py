"""kubectl changes what is there: patches of every type, labels, images, scale, nodes, roll-outs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from .kubectl import Kubectl
from .objects import config_map, job, pod

pytestmark = pytest.mark.kubectl


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """kubectl in a namespace with a Deployment."""
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2")
    return kubectl


@pytest.fixture
def node(kubectl: Kubectl) -> Iterator[str]:
    name = f"node-{kubectl.namespace}"
    kubectl("create", "-f", "-", given={"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    yield name
    kubectl("delete", "node", name, "--wait=false")


def test_strategic_patch_merges_lists_by_key(web: Kubectl) -> None:
    container = {"name": "web", "image": "busybox"}
    web("patch", "deployment", "web", "-p", _template([container]))
    assert web.value(".spec.template.spec.containers[*].name", "deployment", "web") == "web nginx"


def test_strategic_patch_deletes_by_directive(web: Kubectl) -> None:
    web("patch", "deployment", "web", "-p", _template([{"name": "web", "image": "busybox"}]))
    web("patch", "deployment", "web", "-p", _template([{"name": "nginx", "$patch": "delete"}]))
    assert web.value(".spec.template.spec.containers[*].name", "deployment", "web") == "web"


def test_merge_patch_replaces_lists_and_removes_nulls(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a", {"x": "1", "y": "1"}))
    kubectl("patch", "cm", "a", "--type=merge", "-p", '{"data":{"x":null,"z":"2"}}')
    assert kubectl.object("get", "cm", "a")["data"] == {"y": "1", "z": "2"}


def test_json_patch(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a", {"x": "1"}))
    operations = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "move", "from": "/data/x", "path": "/data/y"},
        {"op": "add", "path": "/data/z", "value": "3"},
    ]
    kubectl("patch", "cm", "a", "--type=json", "-p", json.dumps(operations))
    assert kubectl.object("get", "cm", "a")["data"] == {"y": "1", "z": "3"}


def test_json_patch_that_does_not_fit(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    error = kubectl.error("patch", "cm", "a", "--type=json", "-p", '[{"op":"remove","path":"/data/nothing"}]')
    assert "The request is invalid: the server rejected our request due to an error in our request" in error


def test_patch_that_changes_nothing(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    answer = kubectl("patch", "cm", "a", "--type=merge", "-p", '{"data":{"colour":"red"}}')
    assert answer == "configmap/a patched (no change)\n"


def test_patch_of_a_status(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=pod("p"))
    kubectl("patch", "pod", "p", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Running"}}')
    assert kubectl.rows("get", "pod", "p")[1][2] == "Running"


def test_patch_of_an_immutable_field(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=job("j"))
    error = kubectl.error("patch", "job", "j", "-p", '{"spec":{"managedBy":"example.com/other"}}')
    assert "spec.managedBy: Invalid value" in error
    assert "field is immutable" in error


def test_edit_opens_the_object_and_sends_a_patch(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    assert kubectl.using_editor("sed -i s/red/blue/")("edit", "cm", "a") == "configmap/a edited\n"
    assert kubectl.value(".data.colour", "cm", "a") == "blue"


def test_edit_without_a_change(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    done = kubectl.using_editor("touch").run("edit", "cm", "a")
    assert "Edit cancelled, no changes made." in done.stdout + done.stderr


def test_label(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    assert kubectl("label", "cm", "a", "x=1") == "configmap/a labeled\n"
    assert "already has a value (1), and --overwrite is false" in kubectl.error("label", "cm", "a", "x=2")
    kubectl("label", "cm", "a", "x=2", "--overwrite")
    assert kubectl("label", "cm", "a", "--list") == "x=2\n"
    assert kubectl("label", "cm", "a", "x-") == "configmap/a unlabeled\n"


def test_label_of_an_older_version(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    error = kubectl.error("label", "cm", "a", "x=1", "--resource-version=1")
    assert "the object has been modified" in error


def test_annotate(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[config_map("a", labels={"l": "1"}), config_map("b", labels={"l": "1"})])
    answer = kubectl("annotate", "cm", "-l", "l=1", "why=because").splitlines()
    assert answer == ["configmap/a annotated", "configmap/b annotated"]
    kubectl("annotate", "cm", "a", "why-")
    assert kubectl.value(".items[*].metadata.annotations", "cm", "-l", "l=1") == '{"why":"because"}'


def test_set_image(web: Kubectl) -> None:
    assert web("set", "image", "deployment/web", "nginx=nginx:2") == "deployment.apps/web image updated\n"
    assert web.rows("get", "deployment", "web", "-o", "wide")[1][-2] == "nginx:2"


def test_set_env_resources_and_service_account(web: Kubectl) -> None:
    web("set", "env", "deployment/web", "A=1")
    web("set", "resources", "deployment/web", "--limits=cpu=200m")
    web("set", "serviceaccount", "deployment", "web", "robot")
    spec = web.object("get", "deployment", "web")["spec"]["template"]["spec"]
    assert spec["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert spec["containers"][0]["resources"] == {"limits": {"cpu": "200m"}}
    assert spec["serviceAccountName"] == "robot"


def test_set_subject(kubectl: Kubectl) -> None:
    kubectl("create", "rolebinding", "b", "--clusterrole=view", "--user=u")
    kubectl("set", "subject", "rolebinding", "b", "--group=g")
    assert kubectl.value(".subjects[*].name", "rolebinding", "b") == "u g"


def test_scale(web: Kubectl) -> None:
    assert web("scale", "deployment", "web", "--replicas=5") == "deployment.apps/web scaled\n"
    assert web.rows("get", "deployment", "web")[1][1] == "0/5"


def test_scale_on_a_condition(web: Kubectl) -> None:
    error = web.error("scale", "deployment", "web", "--current-replicas=3", "--replicas=4")
    assert "Expected replicas to be 3, was 2" in error


def test_taint(kubectl: Kubectl, node: str) -> None:
    assert kubectl("taint", "node", node, "a=b:NoSchedule") == f"node/{node} tainted\n"
    assert kubectl.value('.spec.taints[?(@.key=="a")]', "node", node) == '{"effect":"NoSchedule","key":"a","value":"b"}'
    assert kubectl("taint", "node", node, "a-") == f"node/{node} untainted\n"


def test_cordon_and_uncordon(kubectl: Kubectl, node: str) -> None:
    kubectl("cordon", node)
    assert "SchedulingDisabled" in kubectl("get", "node", node)
    kubectl("uncordon", node)
    assert "SchedulingDisabled" not in kubectl("get", "node", node)


def test_drain_evicts_pods(kubectl: Kubectl, node: str) -> None:
    kubectl("create", "-f", "-", given=pod("p", nodeName=node, terminationGracePeriodSeconds=0))
    assert "pod/p evicted" in kubectl("drain", node, "--force", "--grace-period=0")


def test_roll_out_restart(web: Kubectl) -> None:
    web("rollout", "restart", "deployment/web")
    note = r".spec.template.metadata.annotations.kubectl\.kubernetes\.io/restartedAt"
    assert web.value(note, "deployment", "web")


def test_roll_out_pause_and_resume(web: Kubectl) -> None:
    web("rollout", "pause", "deployment/web")
    assert web.value(".spec.paused", "deployment", "web") == "true"
    web("rollout", "resume", "deployment/web")
    assert web.value(".spec.paused", "deployment", "web") == ""


def test_roll_out_status_of_what_is_not_observed_yet(web: Kubectl) -> None:
    answer = web("rollout", "status", "deployment/web", "--watch=false")
    assert answer == "Waiting for deployment spec update to be observed...\n"


def test_roll_out_history_without_revisions(web: Kubectl) -> None:
    assert "No rollout history found" in web("rollout", "history", "deployment/web")


def _template(containers: list[dict[str, str]]) -> str:
    return json.dumps({"spec": {"template": {"spec": {"containers": containers}}}})
