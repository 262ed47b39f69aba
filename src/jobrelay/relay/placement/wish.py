"""Where a workload wants to run: its own annotations, and what the relay knows of its past.

An annotation that cannot be understood never stops the relay. One that restricts the workers keeps the workload waiting, since
running it elsewhere could be wrong; one that only prefers some is left out and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.apimachinery.selectors import Selector, SelectorError, parse_label_selector
from jobrelay.relay.names import CLUSTER_SELECTOR, CLUSTERS, PREFERRED

__all__ = ["Wish", "wish"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What one workload wants of its worker."""

    pinned: tuple[str, ...] = ()
    """The only workers it may run on; any if empty."""
    preferred: tuple[str, ...] = ()
    """Workers it would rather run on, the best first."""
    selector: Selector = field(default_factory=Selector)
    """What the worker's labels must match."""
    previous: str | None = None
    """Where it ran last."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Workers that are not to be asked, and why: usually their own refusal."""
    seed: str = ""
    """Decides between equal workers; the workload's uid, so that equal workers share the work."""
    patient: bool = True
    """Whether it waits for room for all of its pods; if not, it starts where most of them fit."""
    problem: str = ""
    """Why it cannot be placed at all, if an annotation is malformed."""
    notes: tuple[str, ...] = ()
    """What else is wrong with its annotations."""
    namespace: str = ""
    """Where the workload is, and its mirror will be."""


def wish(
    annotations: Mapping[str, str],
    previous: str | None = None,
    excluded: Mapping[str, str] | None = None,
    *,
    seed: str = "",
    patient: bool = True,
    namespace: str = "",
) -> Wish:
    """Read a workload's wishes from its annotations."""
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
    return Wish(
        pinned,
        preferred,
        selector,
        previous,
        excluded or {},
        seed,
        patient,
        "; ".join(problems),
        tuple(notes),
        namespace,
    )


def _names(annotations: Mapping[str, str], annotation: str, problems: list[str]) -> tuple[str, ...]:
    """Worker names from a comma separated list; with one bad name none of them counts."""
    names = tuple(dict.fromkeys(name for part in annotations.get(annotation, "").split(",") if (name := part.strip())))
    bad = [name for name in names if name_is_dns_subdomain(name, False)]
    if bad:
        problems.append(f"annotation {annotation} must be worker names separated by commas, {bad[0]!r} is not one")
        return ()
    if not names and annotations.get(annotation, "").strip():
        problems.append(f"annotation {annotation} names no worker: {annotations[annotation]!r}")
    return names
