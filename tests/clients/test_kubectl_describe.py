"""kubectl describe, events and logs."""

from __future__ import annotations

from typing import Any

import pytest

from .kubectl import Kubectl
from .objects import config_map, job, pod

pytestmark = pytest.mark.kubectl


def event(name: str, about: dict[str, Any], *, type: str = "Normal", reason: str = "Seen") -> dict[str, Any]:
    metadata = about["metadata"]
    regarding = {"kind": about["kind"], "apiVersion": about["apiVersion"], "fieldPath": "spec"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {**regarding, **{key: metadata[key] for key in ("name", "namespace", "uid")}},
        "type": type,
        "reason": reason,
        "message": f"a message of {name}",
        "source": {"component": "tests"},
        "firstTimestamp": "2025-01-01T00:00:00Z",
        "lastTimestamp": "2025-01-01T00:00:00Z",
        "count": 3,
    }


def test_job(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=job("j", completions=3, completionMode="Indexed"))
    text = kubectl("describe", "job", "j")
    for words in ("Completion Mode: Indexed", "Completions: 3", "Image: busybox", "Pods Statuses: 0 Active"):
        assert words in _squeezed(text)


def test_events_of_an_object_are_shown_with_it(kubectl: Kubectl) -> None:
    made = kubectl.object("create", "-f", "-", given=config_map("a"))
    kubectl("create", "-f", "-", given=event("a.1", made))
    assert "a message of a.1" in kubectl("describe", "configmap", "a")


def test_pod(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=pod("p"))
    text = kubectl("describe", "pod", "p")
    assert "Status:           Pending" in text
    assert "Node:             <none>" in text
    assert "/var/run/secrets/kubernetes.io/serviceaccount from kube-api-access-" in text


def test_node(kubectl: Kubectl) -> None:
    name = f"node-{kubectl.namespace}"
    kubectl("create", "-f", "-", given={"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    try:
        assert "Non-terminated Pods:" in kubectl("describe", "node", name)
    finally:
        kubectl("delete", "node", name, "--wait=false")


def test_namespace(kubectl: Kubectl) -> None:
    text = kubectl("describe", "namespace", kubectl.namespace)
    assert "Status:       Active" in text
    assert "No resource quota." in text


@pytest.mark.parametrize(
    ("words", "kind", "told"),
    [
        ("secret generic x --from-literal=a=bcd", "secret", "a:  3 bytes"),
        ("serviceaccount x", "serviceaccount", "Image pull secrets:  <none>"),
        ("role x --verb=get --resource=pods", "role", "pods       []"),
        ("quota x --hard=pods=2", "quota", "Resource  Used  Hard"),
        ("deployment x --image=nginx", "deployment", "StrategyType:           RollingUpdate"),
        ("service clusterip x --tcp=80", "service", "TargetPort:               80/TCP"),
        ("cronjob x --image=busybox --schedule=@daily", "cronjob", "Last Schedule Time:  <unset>"),
        ("poddisruptionbudget x --selector=a=b --min-available=1", "pdb", "Min available:  1"),
    ],
)
def test_other_kinds(kubectl: Kubectl, words: str, kind: str, told: str) -> None:
    kubectl("create", *words.split())
    assert _squeezed(told) in _squeezed(kubectl("describe", kind, "x"))


def test_what_every_cluster_has(admin: Kubectl) -> None:
    assert "Value: 2000001000" in _squeezed(admin("describe", "priorityclass", "system-node-critical"))


def test_several_by_label_and_prefix(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[config_map("aa", labels={"x": "1"}), config_map("ab", labels={"x": "1"})])
    assert kubectl("describe", "cm", "-l", "x=1").count("Name:  ") == 2
    assert kubectl("describe", "cm", "a").count("Name:  ") == 2


def test_events_of_a_namespace(kubectl: Kubectl) -> None:
    made = kubectl.object("create", "-f", "-", given=config_map("a"))
    kubectl("create", "-f", "-", given=[event("a.1", made), event("a.2", made, type="Warning", reason="Odd")])
    rows = kubectl.rows("events", "--for=configmap/a", "--types=Warning")
    assert rows[0] == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert [row[1:] for row in rows[1:]] == [["Warning", "Odd", "ConfigMap/a", "a message of a.2"]]


def test_events_as_objects(kubectl: Kubectl) -> None:
    made = kubectl.object("create", "-f", "-", given=config_map("a"))
    kubectl("create", "-f", "-", given=event("a.1", made))
    rows = kubectl.rows("get", "events", "--field-selector=involvedObject.kind=ConfigMap,type=Normal")
    assert rows[0] == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert rows[1][1:] == ["Normal", "Seen", "configmap/a", "a message of a.1"]


def test_logs_of_a_pod_without_a_node_are_empty(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=pod("p"))
    assert kubectl("logs", "p", "-c", "main") == ""


def test_logs_of_an_unknown_container(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=pod("p"))
    assert "container nothing is not valid for pod p" in kubectl.error("logs", "p", "-c", "nothing")


def test_logs_of_no_pod(kubectl: Kubectl) -> None:
    assert 'pods "p" not found' in kubectl.error("logs", "p")


def _squeezed(text: str) -> str:
    """With single blanks, because kubectl lines up its columns."""
    return " ".join(text.split())
