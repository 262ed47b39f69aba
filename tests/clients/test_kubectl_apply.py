"""kubectl apply, diff and replace: on the client's side and on the server's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .kubectl import Kubectl
from .objects import config_map, job, pod

pytestmark = pytest.mark.kubectl

LAST_APPLIED = r".metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration"


def deployment(**container: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "nginx", **container}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def test_apply_creates_then_changes_nothing(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", given=config_map("a")) == "configmap/a created\n"
    assert kubectl("apply", "-f", "-", given=config_map("a")) == "configmap/a unchanged\n"


def test_apply_remembers_what_was_applied(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config_map("a"))
    remembered = json.loads(kubectl.value(LAST_APPLIED, "cm", "a"))
    assert remembered["data"] == {"colour": "red"}


def test_apply_adds_changes_and_removes_keys(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config_map("a", {"stays": "1", "goes": "1", "changes": "1"}))
    kubectl("patch", "cm", "a", "--type=merge", "-p", '{"data":{"foreign":"1"}}')
    given = config_map("a", {"stays": "1", "changes": "2", "new": "1"})
    assert kubectl("apply", "-f", "-", given=given) == "configmap/a configured\n"
    assert kubectl.object("get", "cm", "a")["data"] == {"stays": "1", "changes": "2", "new": "1", "foreign": "1"}


def test_apply_merges_lists_by_their_keys(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]))
    foreign = '{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"C","value":"1"}]}]}}}}'
    kubectl("patch", "deployment", "web", "-p", foreign)
    kubectl("apply", "-f", "-", given=deployment(env=[{"name": "B", "value": "2"}]))
    env = kubectl.object("get", "deployment", "web")["spec"]["template"]["spec"]["containers"][0]["env"]
    assert sorted((each["name"], each["value"]) for each in env) == [("B", "2"), ("C", "1")]


def test_apply_of_several_documents(kubectl: Kubectl) -> None:
    answer = kubectl("apply", "-f", "-", given=[config_map("a"), job("j")])
    assert answer.splitlines() == ["configmap/a created", "job.batch/j created"]


def test_apply_with_prune(kubectl: Kubectl) -> None:
    both = [config_map(name, labels={"set": "one"}) for name in ("a", "b")]
    kubectl("apply", "-f", "-", "-l", "set=one", given=both)
    answer = kubectl(
        "apply", "-f", "-", "-l", "set=one", "--prune", "--prune-allowlist=core/v1/ConfigMap", given=both[:1]
    )
    assert answer.splitlines() == ["configmap/a unchanged", "configmap/b pruned"]


def test_apply_of_an_immutable_field(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=job("j"))
    error = kubectl.error("apply", "-f", "-", given=job("j", completions=5, parallelism=5))
    assert 'The Job "j" is invalid: spec.completions: Invalid value: 5: field is immutable' in error


def test_apply_on_what_was_created_otherwise(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "a", "--from-literal=colour=blue")
    done = kubectl.run("apply", "-f", "-", given=config_map("a"))
    assert done.stdout == "configmap/a configured\n"
    assert "missing the kubectl.kubernetes.io/last-applied-configuration annotation" in done.stderr
    assert kubectl.value(".data.colour", "cm", "a") == "red"


def test_apply_without_effect_by_the_server(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", "--dry-run=server", given=job("j")) == "job.batch/j created (server dry run)\n"
    assert "not found" in kubectl.error("get", "job", "j")


def test_last_applied_is_viewed_and_set(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config_map("a"))
    assert "colour: red" in kubectl("apply", "view-last-applied", "cm", "a")
    kubectl("apply", "set-last-applied", "-f", "-", given=config_map("a", {"colour": "green"}))
    assert "colour: green" in kubectl("apply", "view-last-applied", "cm", "a")


def test_unknown_fields_are_refused(kubectl: Kubectl) -> None:
    given = job("j", colour="red")
    error = kubectl.error("apply", "-f", "-", given=given)
    assert 'strict decoding error: unknown field "spec.colour"' in error


def test_unknown_fields_give_warnings_when_asked(kubectl: Kubectl) -> None:
    done = kubectl.run("apply", "-f", "-", "--validate=warn", given=job("j", colour="red"))
    assert done.stdout == "job.batch/j created\n"
    assert 'Warning: unknown field "spec.colour"' in done.stderr


def test_unknown_fields_pass_when_ignored(kubectl: Kubectl) -> None:
    done = kubectl.run("apply", "-f", "-", "--validate=ignore", given=job("j", colour="red"))
    assert (done.stdout, done.stderr) == ("job.batch/j created\n", "")


def test_server_side_apply(kubectl: Kubectl) -> None:
    for _ in range(2):
        answer = kubectl("apply", "--server-side", "-f", "-", given=config_map("a"))
        assert answer == "configmap/a serverside-applied\n"
    entry = kubectl.object("get", "cm", "a", "--show-managed-fields")["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("kubectl", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:colour": {}}}


def test_server_side_apply_removes_what_is_left_out(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", given=config_map("a", {"x": "1", "y": "1"}))
    kubectl("apply", "--server-side", "-f", "-", given=config_map("a", {"y": "1"}))
    assert kubectl.object("get", "cm", "a")["data"] == {"y": "1"}


def test_server_side_conflicts_name_the_other_and_can_be_forced(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", given=config_map("a"))
    two = ("apply", "--server-side", "--field-manager=two", "-f", "-")
    blue = config_map("a", {"colour": "blue"})
    assert 'conflict with "one": .data.colour' in kubectl.error(*two, given=blue)
    kubectl(*two, "--force-conflicts", given=blue)
    assert kubectl.value(".data.colour", "cm", "a") == "blue"


def test_server_side_apply_shares_equal_values(kubectl: Kubectl) -> None:
    for manager in ("one", "two"):
        kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", given=config_map("a"))
    entries = kubectl.object("get", "cm", "a", "--show-managed-fields")["metadata"]["managedFields"]
    assert {entry["manager"] for entry in entries} == {"one", "two"}


def test_server_side_apply_takes_over_from_client_side(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config_map("a", {"x": "1", "y": "1"}))
    kubectl("apply", "--server-side", "-f", "-", given=config_map("a", {"y": "1"}))
    assert kubectl.object("get", "cm", "a")["data"] == {"y": "1"}


def test_server_side_apply_of_a_job(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", given=job("j"))
    kubectl("apply", "--server-side", "-f", "-", given=job("j", activeDeadlineSeconds=5))
    assert kubectl.value(".spec.activeDeadlineSeconds", "job", "j") == "5"


def test_diff_shows_what_apply_would_do(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config_map("a"))
    done = kubectl.run("diff", "-f", "-", given=config_map("a", {"colour": "blue"}))
    assert done.returncode == 1
    assert {"-  colour: red", "+  colour: blue"} <= set(done.stdout.splitlines())


def test_diff_of_nothing(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config_map("a"))
    assert kubectl("diff", "-f", "-", given=config_map("a")) == ""


def test_diff_of_a_new_object_by_the_server(kubectl: Kubectl) -> None:
    done = kubectl.run("diff", "--server-side", "-f", "-", given=job("new"))
    assert done.returncode == 1
    assert "+  backoffLimit: 6" in done.stdout


def test_replace(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    answer = kubectl("replace", "-f", "-", given=config_map("a", {"size": "1"}))
    assert answer == "configmap/a replaced\n"
    assert kubectl.object("get", "cm", "a")["data"] == {"size": "1"}


def test_replace_of_an_old_version_conflicts(kubectl: Kubectl) -> None:
    old = kubectl.object("create", "-f", "-", given=config_map("a"))
    kubectl("label", "cm", "a", "x=y")
    error = kubectl.error("replace", "-f", "-", given=old)
    assert 'Operation cannot be fulfilled on configmaps "a": the object has been modified' in error


def test_replace_by_force_makes_a_new_object(kubectl: Kubectl) -> None:
    old = kubectl.object("create", "-f", "-", given=job("j"))
    kubectl("replace", "--force", "-f", "-", given=job("j", completions=4))
    new = kubectl.object("get", "job", "j")
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["spec"]["completions"] == 4


def test_replace_of_a_status(kubectl: Kubectl) -> None:
    found = kubectl.object("create", "-f", "-", given=pod("p"))
    found["status"]["message"] = "seen"
    kubectl("replace", "--subresource=status", "-f", "-", given=found)
    assert kubectl.value(".status.message", "pod", "p") == "seen"
