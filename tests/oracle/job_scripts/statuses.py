"""The words that scripts have for statuses of pods and for times."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

Obj = dict[str, Any]


def timed(value: Any) -> Any:
    """`now`, `now-30` and `now+5` as times."""
    if isinstance(value, dict):
        return {key: timed(one) for key, one in value.items()}
    if isinstance(value, list):
        return [timed(one) for one in value]
    found = re.fullmatch(r"now([+-]\d+)?", value) if isinstance(value, str) else None
    if found is None:
        return value
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=int(found.group(1) or 0))
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_status(status: Any) -> Obj:
    """`running`, `ready`, `succeeded`, `failed`, `failed 42` (exit code), `failed 42 -30` (30 s ago), `disrupted`,
    `restarted 3`, or a status as it is."""
    if isinstance(status, dict):
        return dict(timed(status))
    word, *rest = status.split()
    if word == "pending":
        return {"phase": "Pending"}
    if word == "restarted":
        return {"phase": "Running", "containerStatuses": [_container({"running": {}}, restarts=int(rest[0]))]}
    if word == "disrupted":
        return dict(timed(_ended("Failed", 137, rest) | {"conditions": [_condition("DisruptionTarget")]}))
    if word in ("succeeded", "failed"):
        code = int(rest[0]) if rest else int(word == "failed")
        return dict(timed(_ended(word.capitalize(), code, rest[1:])))
    return dict(timed({"phase": "Running", "conditions": [_condition("Ready", *rest)] if word == "ready" else []}))


def _ended(phase: str, code: int, ago: list[str]) -> Obj:
    when = f"now{''.join(ago)}"
    return {
        "phase": phase,
        "containerStatuses": [_container({"terminated": {"exitCode": code, "finishedAt": when, "startedAt": when}})],
    }


def _condition(type_: str, ago: str = "") -> Obj:
    return {"type": type_, "status": "True", "lastTransitionTime": f"now{ago}"}


def _container(state: Obj, restarts: int = 0) -> Obj:
    return {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": restarts, "state": state}
