"""The adapters of a relay: the built-in ones, those of installed packages, and those that an operator describes.

A package brings an adapter by an entry point of the group `jobrelay.workloads`, which names a class or function that
takes no arguments and returns the adapter. One that cannot be loaded is reported by name, and the relay runs without
that kind.

A description or a package may replace a built-in kind, but not Jobs, whose rules are code. Two of them for one kind are
an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from jobrelay.extensions import installed
from jobrelay.kube.resource import JOBS
from jobrelay.logs import get_logger
from jobrelay.workloads.adapter import Adapter
from jobrelay.workloads.builtin import built_in_adapters, deferred_adapters
from jobrelay.workloads.kind_files import GivenKind, KindProblem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = get_logger(__name__)

GROUP: Final = "jobrelay.workloads"


class AdapterConflict(ValueError):
    """Two adapters are for the same kind; the message names both."""


def load_adapters(
    points: Iterable[EntryPoint] | None = None, given: Sequence[GivenKind] = (), *, deferred: bool = False
) -> tuple[Adapter, ...]:
    """A new set of adapters, one per kind; `points` are those of the installed packages if not given. The built-in ones
    are made when they are used if `deferred`.

    Built-in ones follow those that were brought, and Jobs are the last: where several kinds could claim a pod, the
    first one has it.
    """
    found: dict[str, tuple[str, Adapter]] = {}
    for source, adapter in _brought(installed(GROUP) if points is None else points, given):
        kind = str(adapter.resource)
        holder = "the built-in one" if kind == str(JOBS) else found[kind][0] if kind in found else ""
        if holder:
            raise AdapterConflict(f"two workload adapters are for {kind}: {holder} and {source}")
        found[kind] = source, adapter
    built_in = (
        each for each in (deferred_adapters if deferred else built_in_adapters)() if str(each.resource) not in found
    )
    return (*(adapter for _, adapter in found.values()), *built_in)


def usable_kinds(first: Sequence[GivenKind], more: Iterable[GivenKind]) -> tuple[list[GivenKind], list[KindProblem]]:
    """Which of `more` can be used beside `first` and what is installed, and why the others cannot."""
    taken, problems = list(first), list[KindProblem]()
    for kind in more:
        try:
            load_adapters(given=(*taken, kind))
        except AdapterConflict as error:
            problems.append(KindProblem(kind.config_map, str(error)))
        else:
            taken.append(kind)
    return taken, problems


def _brought(points: Iterable[EntryPoint], given: Sequence[GivenKind]) -> Iterator[tuple[str, Adapter]]:
    if given:
        from jobrelay.workloads.declared import DeclaredAdapter
    for kind in given:
        yield kind.source, DeclaredAdapter(kind.description)
    for point in points:
        try:
            adapter = point.load()()
            if not isinstance(adapter, Adapter):
                missing = [name for name in vars(Adapter) if not name.startswith("_") and not hasattr(adapter, name)]
                raise TypeError(f"{type(adapter).__name__} lacks {', '.join(missing)}")
        except Exception as error:  # foreign code: whatever it raises, the relay continues without it
            log.warning(f"workload adapter {point.name} cannot be used: {error}", target=point.value, exc_info=error)
            continue
        yield f"{point.name} ({point.value})", adapter
