"""kubectl get --watch: what was there, then what happens."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from .kubectl import Kubectl
from .objects import config_map, job

pytestmark = pytest.mark.kubectl


def test_table_of_changes(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=job("a", completions=2))
    with kubectl.following("get", "jobs", "-w") as lines:
        assert next(lines).split()[:3] == ["NAME", "STATUS", "COMPLETIONS"]
        assert next(lines).split()[0:3:2] == ["a", "0/2"]
        kubectl("create", "-f", "-", given=job("b"))
        assert next(lines).split()[0:3:2] == ["b", "0/1"]


def test_only_new_changes(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a", labels={"mine": "yes"}))
    with kubectl.following("get", "cm", "-l", "mine", "-w", "-o", "name") as lines:
        assert next(lines) == "configmap/a\n"
        kubectl("create", "-f", "-", given=config_map("b", labels={"mine": "yes"}))
        assert next(lines) == "configmap/b\n"


def test_kinds_of_events(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a", labels={"mine": "yes"}))
    with kubectl.following("get", "cm", "-l", "mine", "-w", "--output-watch-events", "-o", "json") as lines:
        assert _event(lines)["type"] == "ADDED"
        kubectl("annotate", "cm", "a", "x=y")
        changed = _event(lines)
        assert (changed["type"], changed["object"]["metadata"]["annotations"]) == ("MODIFIED", {"x": "y"})
        kubectl("label", "cm", "a", "mine-")
        assert _event(lines)["type"] == "DELETED"


def test_one_object_in_columns(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("a"))
    columns = "custom-columns=NAME:.metadata.name,COLOUR:.data.colour"
    with kubectl.following("get", "cm", "a", "-w", "-o", columns) as lines:
        assert [next(lines).split() for _ in range(2)] == [["NAME", "COLOUR"], ["a", "red"]]
        kubectl("patch", "cm", "a", "--type=merge", "-p", '{"data":{"colour":"blue"}}')
        assert next(lines).split() == ["a", "blue"]


def test_events_as_they_come(kubectl: Kubectl) -> None:
    with kubectl.following("events", "--watch") as lines:
        kubectl("create", "-f", "-", given=_note(kubectl.namespace))
        assert next(lines).split()[0] == "LAST"
        assert next(lines).split()[1:4] == ["Normal", "Started", "Job/a"]


def _note(namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "a.1"},
        "involvedObject": {"kind": "Job", "name": "a", "namespace": namespace},
        "type": "Normal",
        "reason": "Started",
        "message": "it runs",
    }


def _event(lines: Iterator[str]) -> Any:
    """The next JSON document, of however many lines."""
    text = ""
    for line in lines:
        text += line
        with contextlib.suppress(ValueError):
            return json.loads(text)
    raise AssertionError(f"the watch ended after {text!r}")
