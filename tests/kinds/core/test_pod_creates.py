"""Answers of a real API server (v1.35.4) to creates of pods, each with one odd thing.

Each case has what was sent and the errors, the refusal of admission, or the spec and status that came back with
warnings.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.field import Path as FieldPath
from jobrelay.apimachinery.meta import validate_object_meta
from jobrelay.apimachinery.names import name_is_path_segment
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds.core.pod.admission import admit_pod
from jobrelay.kinds.core.pod.defaults import default_pod_template
from jobrelay.kinds.core.pod.spec import validate_pod_template_spec
from jobrelay.kinds.core.pod.strategy import STRATEGIES

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/pod_creates.json").read_text())
PODS = STRATEGIES["", "pods"]
PRIORITY_CLASSES = [
    {"metadata": {"name": "system-node-critical"}, "value": 2000001000, "preemptionPolicy": "PreemptLowerPriority"},
    {"metadata": {"name": "system-cluster-critical"}, "value": 2000000000, "preemptionPolicy": "PreemptLowerPriority"},
]


def decoded(case: dict[str, Any]) -> dict[str, Any]:
    kind = type_for_kind("v1", "Pod")
    assert kind is not None
    pod: dict[str, Any] = decode(copy.deepcopy(case["new"]), kind)
    pod["metadata"]["namespace"] = "pods-cmp"
    PODS.default(pod)
    return pod


def admit(pod: dict[str, Any]) -> str:
    name = pod["spec"].get("serviceAccountName") or "default"
    account = {"metadata": {"name": "default"}} if name == "default" else None
    refusal = admit_pod(pod, service_account=account, priority_classes=PRIORITY_CLASSES, random_suffix="xxxxx")
    return refusal[1] if refusal else ""


def answer(pod: dict[str, Any]) -> dict[str, Any]:
    if refused := admit(pod):
        return {"refused": refused}
    PODS.prepare_create(pod)
    errors = PODS.validate_create(pod) + validate_object_meta(
        pod["metadata"], namespaced=True, name_fn=name_is_path_segment, known_finalizers=False
    )
    if errors:
        return {"errors": list(dict.fromkeys(error.text() for error in errors))}
    warnings = PODS.warn_prepared(pod) + PODS.warn_create(pod)
    return {"spec": pod["spec"], "status": pod["status"], **({"warnings": warnings} if warnings else {})}


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case["new"]["metadata"])[:40])
def test_a_pod_gets_the_answer_of_the_real_server(case: dict[str, Any]) -> None:
    expected = {key: value for key, value in case.items() if key != "new"}
    got = answer(decoded(case))
    for errors in (expected.get("errors"), got.get("errors")):
        if errors:
            errors.sort()  # Go walks maps in any order
    assert got == expected


@pytest.mark.parametrize(
    "case", [c for c in CASES if "spec" in c][::20], ids=lambda case: str(case["new"]["spec"])[:40]
)
def test_a_good_pod_is_a_good_template(case: dict[str, Any]) -> None:
    kind = type_for_kind("v1", "PodTemplate")
    assert kind is not None
    made = decode({"template": {"spec": copy.deepcopy(case["new"].get("spec", {}))}}, kind)
    default_pod_template(made["template"])
    assert validate_pod_template_spec(made["template"], FieldPath("template")) == []
