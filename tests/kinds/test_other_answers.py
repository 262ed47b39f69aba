"""Answers of a real API server (v1.35.4) to creates and updates of storage, networking, device and admission objects.

Each case has what was sent (`new`, and for an update what was stored as `old`) and either the errors or the object that came
back, with warnings.
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
from jobrelay.kinds.strategy import Strategy

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/other_answers.json").read_text())
ROWS = {(row["group"], row["plural"]): row for row in registry.resources()}


def read(case: dict[str, Any], which: str) -> dict[str, Any]:
    row = ROWS[case["group"], case["plural"]]
    version = f"{row['group']}/{row['version']}"
    kind = type_for_kind(version, row["kind"])
    assert kind is not None
    made: dict[str, Any] = decode({"apiVersion": version, "kind": row["kind"], **copy.deepcopy(case[which])}, kind)
    if row["namespaced"]:
        made["metadata"].setdefault("namespace", "misc-tables")
    return made


def generic(new: dict[str, Any]) -> list[FieldError]:
    namespaced = "namespace" in new["metadata"]
    return validate_object_meta(
        new["metadata"], namespaced=namespaced, name_fn=name_is_path_segment, known_finalizers=False
    )


def create(strategy: Strategy, new: dict[str, Any]) -> tuple[list[FieldError], list[str]]:
    strategy.prepare_create(new)
    return strategy.validate_create(new) or generic(new), strategy.warn_create(new)


def update(strategy: Strategy, new: dict[str, Any], case: dict[str, Any]) -> tuple[list[FieldError], list[str]]:
    old = read(case, "old")
    for obj in (old, new):
        obj["metadata"] |= {"resourceVersion": "1", "uid": "u"}
    hooks = strategy.subresources[case["sub"]] if "sub" in case else strategy.update
    hooks.prepare(new, old)
    shared = generic(new) + validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
    return shared + hooks.validate(new, old), hooks.warn(new, old)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['plural']}-{case.get('sub', '')}")
def test_real_answer(case: dict[str, Any]) -> None:
    strategy = registry.strategy(case["group"], case["plural"])
    new = read(case, "new")
    strategy.default(new)
    errors, warnings = update(strategy, new, case) if "old" in case else create(strategy, new)
    assert list(dict.fromkeys(error.text() for error in errors)) == case.get("errors", [])
    if "object" in case:
        new["metadata"] = {k: v for k, v in new["metadata"].items() if k not in ("resourceVersion", "uid")}
        assert new == case["object"]
        assert warnings == case.get("warnings", [])
