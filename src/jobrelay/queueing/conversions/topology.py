"""Topology assignments: a list of domains in v1beta1, slices without repetitions in v1beta2.

A slice has a value once where it is that of all its domains, and what values have in common as a prefix and a suffix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Fields = Mapping[str, Any]
_LARGEST: Final = 100_000
"""Domains of a slice, by the schema of v1beta2."""


def with_slices(assignment: Fields) -> dict[str, Any]:
    """An assignment of v1beta1 as v1beta2 has it."""
    domains, levels = assignment.get("domains") or [], assignment.get("levels") or []
    chunks = [domains[at : at + _LARGEST] for at in range(0, len(domains), _LARGEST)]
    return {"levels": levels, "slices": [_slice(levels, chunk) for chunk in chunks]}


def with_domains(assignment: Fields) -> dict[str, Any]:
    """An assignment of v1beta2 as v1beta1 has it."""
    slices = assignment.get("slices") or []
    return {"levels": assignment.get("levels") or [], "domains": [each for one in slices for each in _domains(one)]}


def _slice(levels: Sequence[str], domains: Sequence[Fields]) -> dict[str, Any]:
    counts = [each["count"] for each in domains]
    same = len(set(counts)) == 1
    return {
        "domainCount": len(domains),
        "podCounts": {"universal": counts[0]} if same else {"individual": counts},
        "valuesPerLevel": [_compact([each["values"][level] for each in domains]) for level in range(len(levels))],
    }


def _compact(values: Sequence[str]) -> dict[str, Any]:
    if len(set(values)) == 1:
        return {"universal": values[0]}
    suffix = _common_prefix([each[::-1] for each in values])[::-1]
    prefix = _common_prefix(values)[: min(map(len, values)) - len(suffix)]
    individual: dict[str, Any] = {"roots": [each[len(prefix) : len(each) - len(suffix)] for each in values]}
    return {"individual": individual | ({"prefix": prefix} if prefix else {}) | ({"suffix": suffix} if suffix else {})}


def _common_prefix(values: Sequence[str]) -> str:
    first, last = min(values), max(values)
    return first[: next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), None)]


def _domains(given: Fields) -> Iterator[dict[str, Any]]:
    count, counts = given["domainCount"], given["podCounts"]
    levels = [_expanded(each, count) for each in given["valuesPerLevel"]]
    pods = counts["individual"] if "individual" in counts else [counts["universal"]] * count
    for at in range(count):
        yield {"values": [values[at] for values in levels], "count": pods[at]}


def _expanded(values: Fields, count: int) -> list[str]:
    individual = values.get("individual")
    if individual is None:
        return [values["universal"]] * count
    prefix, suffix = individual.get("prefix") or "", individual.get("suffix") or ""
    return [f"{prefix}{root}{suffix}" for root in individual["roots"]]
