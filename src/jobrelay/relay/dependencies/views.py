"""What is known about the dependencies of a workload, for `explain` and the API."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from jobrelay.kube import Object
from jobrelay.relay.dependencies.answers import Answers, Presence
from jobrelay.relay.dependencies.renaming import copies_of
from jobrelay.workloads import ObjectName, Reference


class DependencyView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One object that a workload names; workers that were not asked about it are not mentioned."""

    object: str
    optional: bool = False
    present: tuple[str, ...] = ()
    """The workers that have it."""
    missing: tuple[str, ...] = ()
    copyable: tuple[str, ...] = ()
    """The workers that lack it, and get a copy if they are chosen."""
    unchecked: Mapping[str, str] = {}
    """By worker: why it cannot be checked; it is taken to be there."""
    copies: Mapping[str, str] = {}
    """By worker: the name of the copy that a mirror there uses."""


def dependency_views(
    references: tuple[Reference, ...], answers: Mapping[str, Answers], mirrors: Mapping[str, Object]
) -> tuple[DependencyView, ...]:
    """One view for each object; `answers` and `mirrors` are by worker."""
    copies = {worker: copies_of(mirror) for worker, mirror in mirrors.items()}
    return tuple(_view(each, answers, copies) for each in references)


def _view(
    reference: Reference, answers: Mapping[str, Answers], copies: Mapping[str, Mapping[ObjectName, str]]
) -> DependencyView:
    target = reference.target
    known = {worker: found[target] for worker, found in answers.items() if target in found}
    used = {worker: names[target] for worker, names in copies.items() if target in names}

    def workers(presence: Presence) -> tuple[str, ...]:
        return tuple(worker for worker, answer in known.items() if answer.presence is presence)

    return DependencyView(
        str(target),
        reference.optional,
        workers(Presence.PRESENT),
        workers(Presence.MISSING),
        tuple(worker for worker in workers(Presence.COPYABLE) if worker not in used),
        {worker: known[worker].detail for worker in workers(Presence.UNCHECKED)},
        used,
    )
