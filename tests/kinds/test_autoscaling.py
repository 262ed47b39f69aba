"""HorizontalPodAutoscalers: defaults, and the v1 view that loses nothing."""

from __future__ import annotations

import json
from typing import Any

from jobrelay.kinds.autoscaling import v1_to_v2, v2_to_v1
from jobrelay.kinds.strategy import Obj

from .workloads import create, hooks, read, texts, update

TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
PODS = {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1k"}}}
METRICS = "autoscaling.alpha.kubernetes.io/metrics"
BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"


def autoscaler(**spec: Any) -> Obj:
    return {"metadata": {"name": "x"}, "spec": {"scaleTargetRef": TARGET, "maxReplicas": 3, **spec}}


def test_cpu_is_the_default_metric() -> None:
    spec = read("HorizontalPodAutoscaler", autoscaler())["spec"]
    assert spec["minReplicas"] == 1
    assert spec["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}


def test_behavior_is_filled_in_where_it_is_given() -> None:
    spec = read("HorizontalPodAutoscaler", autoscaler(behavior={"scaleDown": {"selectPolicy": "Min"}}))["spec"]
    assert spec["behavior"]["scaleDown"]["selectPolicy"] == "Min"
    assert spec["behavior"]["scaleUp"]["stabilizationWindowSeconds"] == 0
    assert "behavior" not in read("HorizontalPodAutoscaler", autoscaler())["spec"]


def test_v1_shows_the_cpu_target_and_keeps_the_rest_in_annotations() -> None:
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 40}}}
    made = read("HorizontalPodAutoscaler", autoscaler(metrics=[PODS, cpu], behavior={}))
    old = v2_to_v1(made)
    assert old["spec"]["targetCPUUtilizationPercentage"] == 40
    annotations = old["metadata"]["annotations"]
    assert annotations[METRICS] == '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1k"}}]'
    assert list(json.loads(annotations[BEHAVIOR])) == ["ScaleUp", "ScaleDown"]


def test_v1_round_trip_keeps_everything() -> None:
    made = read("HorizontalPodAutoscaler", autoscaler(metrics=[PODS], behavior={}))
    made["status"] = {
        "currentReplicas": 1, "desiredReplicas": 2, "conditions": [{"type": "A", "status": "True"}],
        "currentMetrics": [{"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "5"}}}],
    }  # fmt: skip
    back = v1_to_v2(v2_to_v1(made))
    assert back["spec"] == made["spec"]
    assert back["status"]["currentMetrics"] == made["status"]["currentMetrics"]
    assert "annotations" not in back["metadata"]


def test_unreadable_annotations_count_as_absent() -> None:
    body = {"metadata": {"name": "x", "annotations": {METRICS: "bad", BEHAVIOR: "["}}, "spec": autoscaler()["spec"]}
    spec = v1_to_v2(body)["spec"]
    assert [metric["type"] for metric in spec["metrics"]] == ["Resource"]
    assert "behavior" not in spec


def test_the_target_needs_an_api_group_unless_it_stays() -> None:
    body = autoscaler(scaleTargetRef={"kind": "Deployment", "name": "d"})
    made, errors = create("HorizontalPodAutoscaler", body)
    problem = 'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group'
    assert texts(errors) == [problem]
    assert not update("HorizontalPodAutoscaler", made, {"spec": {"maxReplicas": 4}})[1]


def test_hooks_take_v1_objects_too() -> None:
    body: Obj = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", **autoscaler(maxReplicas=0)}
    body["status"] = {"currentReplicas": 7, "desiredReplicas": 0}
    hpa = hooks("HorizontalPodAutoscaler")
    hpa.default(body)
    hpa.prepare_create(body)
    assert body["spec"]["targetCPUUtilizationPercentage"] == 80
    assert body["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    assert "spec.maxReplicas" in {error.field for error in hpa.validate_create(body)}


def test_no_policies_are_not_the_default_policies() -> None:
    _, errors = create("HorizontalPodAutoscaler", autoscaler(behavior={"scaleUp": {"policies": []}}))
    assert texts(errors) == ["spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"]
