"""Fleets, traces and plans for tests, in few words."""

from __future__ import annotations

from typing import Any

from jobrelay.planning import FleetDescription, PlanResult, parse_fleet, parse_trace, run_plan

NODE = {"cpu": 4, "memory": "16Gi"}


def fleet(*names: str, nodes: Any = (NODE,), **more: Any) -> FleetDescription:
    return parse_fleet({"workers": [{"name": name, "nodes": list(nodes)} for name in names], **more})


def plan(
    it: FleetDescription, *lines: str, policy: str = "", head: str = "submit,duration,cpu,pods", **how: Any
) -> PlanResult:
    return run_plan(it, parse_trace([head, *lines]), policy, **how)
