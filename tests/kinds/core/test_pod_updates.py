"""Answers of a real API server (v1.35.4) to updates of pods, their status, ephemeral containers and sizes.

`pods` are the stored pods. Each update has a merge patch that makes what was sent, and the errors or what changed.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds.core.pod.admission import admit_pod_update
from jobrelay.kinds.core.pod.strategy import STRATEGIES

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data/pod_updates.json").read_text())
PODS = STRATEGIES["", "pods"]
KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def decoded(pod: dict[str, Any]) -> dict[str, Any]:
    kind = type_for_kind("v1", "Pod")
    assert kind is not None
    made: dict[str, Any] = decode(copy.deepcopy(pod), kind)
    PODS.default(made)
    return made


def merged(value: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(value, dict):
        return patch
    out = {key: item for key, item in value.items() if key not in patch}
    return out | {key: merged(value.get(key, {}), item) for key, item in patch.items() if item is not None}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("case", DATA["updates"], ids=lambda case: str(case["what"]))
def test_an_update_gets_the_answer_of_the_real_server(case: dict[str, Any]) -> None:
    stored = DATA["pods"][case["pod"]]
    old, new = decoded(stored), decoded(merged(stored, case["patch"]))
    hooks = PODS.subresources[case["subresource"]] if case["subresource"] else PODS.update
    if not case["subresource"]:
        admit_pod_update(new, old)
    hooks.prepare(new, old)
    new["metadata"] |= {name: old["metadata"][name] for name in KEPT if name in old["metadata"]}
    errors = sorted({error.text() for error in hooks.validate(new, old)})
    assert errors == sorted(case.get("errors", []))
    if not errors:
        assert without_nulls(new) == without_nulls(decoded(merged(stored, case["outcome"])))
        assert hooks.warn(new, old) == case.get("warnings", [])
