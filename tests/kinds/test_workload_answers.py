"""What a real API server said to odd Jobs, CronJobs, workloads, budgets and autoscalers, word for word and in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .workloads import UID, create, hooks, texts

ANSWERS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("data").joinpath("workload_answers.json").read_text()
)


@pytest.mark.parametrize("answer", ANSWERS, ids=[f"{a['kind']}-{i}" for i, a in enumerate(ANSWERS)])
def test_create_is_judged_as_by_a_real_server(answer: dict[str, Any]) -> None:
    _, errors = create(answer["kind"], answer["body"])
    assert [text.replace(UID, "U") for text in texts(errors)] == answer["errors"]


@pytest.mark.parametrize("answer", [a for a in ANSWERS if "warnings" in a], ids=lambda a: str(a["warnings"])[:40])
def test_create_warns_as_a_real_server(answer: dict[str, Any]) -> None:
    obj, _ = create(answer["kind"], answer["body"])
    assert hooks(answer["kind"]).warn_create(obj) == answer["warnings"]
