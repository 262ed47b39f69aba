"""Dependencies in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from jobrelay.relay.dependencies.answers import Answer
from jobrelay.workloads import ObjectName

_NAMED: Final = 5
"""How many objects a sentence names before it only counts the others."""


def lacks(missing: Mapping[ObjectName, Answer]) -> str:
    """`lacks ConfigMap team/settings and Secret team/token`."""
    return f"lacks {listed(_with_detail(each, answer.detail) for each, answer in missing.items())}"


def listed(texts: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`; of many only the first."""
    found = list(texts)
    if len(found) > _NAMED:
        found = [*found[:_NAMED], f"{len(found) - _NAMED} more"]
    *others, last = found
    return f"{', '.join(others)} and {last}" if others else last


def _with_detail(target: ObjectName, detail: str) -> str:
    return f"{target} ({detail})" if detail else str(target)
