"""Answers of a real API server (v1.35.4) to creates and updates of core, RBAC, lease, event and certificate objects.

Each case has what was sent (`new`, and for an update what was stored as `old`) and either the errors or the object that
came back, with warnings. Addresses and ports that the server picks are masked.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.field import FieldError
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_path_segment
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds import registry
from jobrelay.kinds.context import RequestContext, RequestUser, current
from jobrelay.kinds.core.serviceaddresses import ServiceAllocator, begin_create, begin_update
from jobrelay.kinds.strategy import Strategy

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/core_answers.json").read_text())
ROWS = {(row["group"], row["plural"]): row for row in registry.resources() if "/" not in row["plural"]}
KUBERNETES: dict[str, Any] = {"spec": {"clusterIPs": ["10.0.0.1"]}}


def group_of(case: dict[str, Any]) -> str:
    return "" if case["api"] == "/api/v1" else str(case["api"].split("/")[2])


def read(case: dict[str, Any], which: str) -> dict[str, Any]:
    group = group_of(case)
    row = ROWS[group, case["plural"]]
    kind = type_for_kind(f"{group}/v1" if group else "v1", row["kind"])
    assert kind is not None
    made: dict[str, Any] = decode(copy.deepcopy(case[which]), kind)
    if row["namespaced"]:
        made["metadata"].setdefault("namespace", "core-a")
    return made


def create(strategy: Strategy, new: dict[str, Any], case: dict[str, Any]) -> tuple[list[FieldError], list[str]]:
    if case["plural"] == "services" and (errors := begin_create(new, ServiceAllocator([KUBERNETES]))):
        return errors, []
    strategy.prepare_create(new)
    generic = validate_object_meta(
        new["metadata"],
        namespaced="namespace" in new["metadata"],
        name_fn=name_is_path_segment,
        known_finalizers=False,
    )
    return strategy.validate_create(new) + generic, strategy.warn_create(new)


def update(strategy: Strategy, new: dict[str, Any], case: dict[str, Any]) -> tuple[list[FieldError], list[str]]:
    old = read(case, "old")
    hooks = strategy.subresources[case["sub"]] if "sub" in case else strategy.update
    if (
        case["plural"] == "services"
        and "sub" not in case
        and (errors := begin_update(new, old, ServiceAllocator([old])))
    ):
        return errors, []
    hooks.prepare(new, old)
    generic = validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
    return generic + hooks.validate(new, old), hooks.warn(new, old)


def masked(obj: dict[str, Any]) -> dict[str, Any]:
    out = copy.deepcopy(obj)
    out["metadata"].pop("resourceVersion", None)
    status, spec = out.get("status") or {}, out.get("spec") or {}
    if "lastPhaseTransitionTime" in status:
        status["lastPhaseTransitionTime"] = "T"
    if spec.get("clusterIP", "None") != "None":
        spec |= {"clusterIP": "IP", "clusterIPs": ["IP"]}
    for holder, name in [(port, "nodePort") for port in spec.get("ports") or ()] + [(spec, "healthCheckNodePort")]:
        if name in holder:
            holder[name] = 1
    return out


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['plural']}-{case.get('sub', '')}")
def test_real_answer(case: dict[str, Any]) -> None:
    current.set(RequestContext(requester=RequestUser("admin", "admin", ("system:masters", "system:authenticated"))))
    strategy = registry.strategy(group_of(case), case["plural"])
    new = read(case, "new")
    strategy.default(new)
    errors, warnings = (update if "old" in case else create)(strategy, new, case)
    assert list(dict.fromkeys(error.text() for error in errors)) == case.get("errors", [])
    if "object" in case:
        strategy.canonicalize(new)
        assert masked(new) == masked(case["object"])
        assert warnings == case.get("warnings", [])
