"""What admission does to pods, beyond the recorded answers."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kinds.core.pod.admission import admit_pod
from jobrelay.kinds.core.pod.binding import bind_pod, validate_binding
from jobrelay.kinds.core.pod.strategy import pod_grace_period
from jobrelay.kinds.core.pod.streams import ContainerError, choose_container, validate_log_options

ACCOUNT: dict[str, Any] = {"metadata": {"name": "default"}}
NOW = "2024-01-01T00:00:00Z"


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {}}]
    return {"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": containers, **spec}, "status": {}}


def refusal(made: dict[str, Any], account: Any = ACCOUNT, classes: Any = (), runtime_class: Any = None) -> str:
    got = admit_pod(
        made, service_account=account, priority_classes=classes, random_suffix="abcde", runtime_class=runtime_class
    )
    return got[1] if got else ""


def test_a_missing_service_account_refuses_the_pod() -> None:
    assert refusal(pod(), account=None) == (
        'pods "p" is forbidden: error looking up service account n/default: serviceaccount "default" not found'
    )


def test_the_token_is_mounted_once() -> None:
    made = pod()
    refusal(made)
    refusal(made)
    assert [v["name"] for v in made["spec"]["volumes"]] == ["kube-api-access-abcde"]
    assert len(made["spec"]["containers"][0]["volumeMounts"]) == 1


def test_the_account_may_turn_the_token_off() -> None:
    made = pod()
    refusal(made, account=ACCOUNT | {"automountServiceAccountToken": False})
    assert "volumes" not in made["spec"]


def test_pull_secrets_come_from_the_account() -> None:
    made = pod()
    refusal(made, account=ACCOUNT | {"imagePullSecrets": [{"name": "s"}]})
    assert made["spec"]["imagePullSecrets"] == [{"name": "s"}]


def test_an_account_may_allow_only_its_secrets() -> None:
    account = {"metadata": {"name": "a", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}}
    made = pod(volumes=[{"name": "v", "secret": {"secretName": "s"}}])
    assert 'volume with secret.secretName="s" is not allowed because service account a' in refusal(made, account)


def test_the_global_default_priority_class_is_taken() -> None:
    made = pod()
    classes = [{"metadata": {"name": "usual"}, "value": 7, "globalDefault": True, "preemptionPolicy": "Never"}]
    refusal(made, classes=classes)
    assert (made["spec"]["priorityClassName"], made["spec"]["priority"]) == ("usual", 7)
    assert made["spec"]["preemptionPolicy"] == "Never"


def test_a_runtime_class_brings_overhead_and_scheduling() -> None:
    runtime = {
        "overhead": {"podFixed": {"cpu": "1"}},
        "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
    }
    made = pod(runtimeClassName="r")
    assert refusal(made, runtime_class=runtime) == ""
    assert made["spec"]["overhead"] == {"cpu": "1"}
    assert made["spec"]["nodeSelector"] == {"a": "b"}
    assert made["spec"]["tolerations"][-1]["key"] == "k"


@pytest.mark.parametrize(
    ("spec", "phase", "requested", "expected"),
    [
        ({}, "Pending", None, 0),
        ({"nodeName": "n"}, "Running", None, 30),
        ({"nodeName": "n"}, "Running", 5, 5),
        ({"nodeName": "n"}, "Running", -1, 1),
        ({"nodeName": "n"}, "Succeeded", None, 0),
    ],
)
def test_grace_period(spec: dict[str, Any], phase: str, requested: int | None, expected: int) -> None:
    made = pod(terminationGracePeriodSeconds=30, **spec)
    made["status"]["phase"] = phase
    assert pod_grace_period(made, requested) == expected


def test_binding_sets_node_labels_and_condition() -> None:
    made = pod()
    binding = {"metadata": {"annotations": {"x": "y"}}, "target": {"name": "n1"}}
    assert bind_pod(made, binding, now=NOW, node_labels={"topology.kubernetes.io/zone": "z", "other": "o"}) == ""
    assert made["spec"]["nodeName"] == "n1"
    assert made["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z"}
    assert made["status"]["conditions"][0]["lastTransitionTime"] == NOW


def test_a_bound_pod_is_not_bound_again() -> None:
    assert bind_pod(pod(nodeName="n"), {"target": {"name": "m"}}, now=NOW) == 'pod p is already assigned to node "n"'


def test_a_binding_needs_a_node() -> None:
    texts = [error.text() for error in validate_binding({"target": {"kind": "Pod"}})]
    assert texts == [
        'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        "target.name: Required value",
    ]


def test_the_only_container_is_meant() -> None:
    assert choose_container(pod(), "") == "c"
    with pytest.raises(ContainerError, match="container x is not valid for pod p"):
        choose_container(pod(), "x")


def test_of_two_containers_one_must_be_named() -> None:
    made = pod(containers=[{"name": "a"}, {"name": "b"}])
    with pytest.raises(ContainerError, match=r"must be specified for pod p, choose one of: \[a b\]"):
        choose_container(made, "")


def test_log_options() -> None:
    texts = [e.text() for e in validate_log_options({"tailLines": -1, "limitBytes": 0, "sinceSeconds": 0})]
    assert texts == [
        "tailLines: Invalid value: -1: must be greater than or equal to 0",
        "limitBytes: Invalid value: 0: must be greater than 0",
        "sinceSeconds: Invalid value: 0: must be greater than 0",
    ]
