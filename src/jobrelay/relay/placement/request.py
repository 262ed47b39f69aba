"""Where a workload may or should run: its placement annotations, and what the relay knows of its earlier runs.

A malformed annotation is never an error of the relay. If it restricts the workers, the workload waits until it is
corrected, since running it elsewhere could be wrong. If it only states a preference, it is ignored and reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.apimachinery.selectors import Selector, SelectorError, parse_label_selector
from jobrelay.relay.names import CLUSTER_SELECTOR, CLUSTERS, PREFERRED


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """What one workload asks of its worker, apart from resources."""

    pinned: tuple[str, ...] = ()
    """The only workers it may run on; any if empty."""
    preferred: tuple[str, ...] = ()
    """Workers it prefers, the best first."""
    selector: Selector = field(default_factory=Selector)
    """What the worker's labels must match."""
    previous: str | None = None
    """The worker of its last run."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Workers that must not get it, and why: usually their own refusal."""
    seed: str = ""
    """Breaks ties between equal workers; the workload's uid, so that equal workers share the work."""
    problem: str = ""
    """Why it cannot be placed at all, if a restricting annotation is malformed."""
    notes: tuple[str, ...] = ()
    """Other problems of its annotations."""
    namespace: str = ""
    """The namespace of the workload and of its mirror."""
    unfit: Mapping[str, str] = field(default_factory=dict)
    """Workers that cannot fence it, and why; empty if it is not fenced."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Workers without objects that it needs, and what they lack, in words."""
    kind: str = ""
    """The name of its kind, which not every worker may serve."""
    priority: int = 0


def read_request(
    annotations: Mapping[str, str],
    previous: str | None = None,
    excluded: Mapping[str, str] | None = None,
    *,
    seed: str = "",
    namespace: str = "",
    unfit: Mapping[str, str] | None = None,
    kind: str = "",
    lacking: Mapping[str, str] | None = None,
    priority: int = 0,
) -> PlacementRequest:
    """Read the placement annotations of a workload."""
    problems: list[str] = []
    notes: list[str] = []
    pinned = _names(annotations, CLUSTERS, problems)
    preferred = _names(annotations, PREFERRED, notes)
    selector = Selector()
    if text := annotations.get(CLUSTER_SELECTOR, "").strip():
        try:
            selector = parse_label_selector(text)
        except SelectorError as error:
            problems.append(f"annotation {CLUSTER_SELECTOR} is not a label selector: {error}")
    problem = "; ".join(problems)
    return PlacementRequest(
        pinned,
        preferred,
        selector,
        previous,
        excluded or {},
        seed,
        problem,
        tuple(notes),
        namespace,
        unfit or {},
        lacking or {},
        kind,
        priority,
    )


def _names(annotations: Mapping[str, str], annotation: str, problems: list[str]) -> tuple[str, ...]:
    """Worker names from a comma-separated list; one invalid name invalidates the list."""
    text = annotations.get(annotation, "")
    if not text:
        return ()
    names = tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    bad = [name for name in names if name_is_dns_subdomain(name, False)]
    if bad:
        problems.append(f"annotation {annotation} must be worker names separated by commas, {bad[0]!r} is not one")
        return ()
    if not names and text.strip():
        problems.append(f"annotation {annotation} names no worker: {text!r}")
    return names
