"""The adapters of a relay: the built-in ones and those of installed packages.

A package brings an adapter by an entry point of the group `jobrelay.workloads`, which names a class or function that
takes no arguments and returns the adapter. One that cannot be loaded is reported by name, and the relay runs without
that kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from typing import Final

from jobrelay.extensions import installed
from jobrelay.logs import get_logger
from jobrelay.workloads.adapter import Adapter
from jobrelay.workloads.job import JobAdapter

log = get_logger(__name__)

GROUP: Final = "jobrelay.workloads"


class AdapterConflict(ValueError):
    """Two adapters are for the same kind; the message names both."""


def load_adapters(points: Iterable[EntryPoint] | None = None) -> tuple[Adapter, ...]:
    """A new set of adapters, one per kind; `points` are those of the installed packages if not given."""
    found: dict[str, tuple[str, Adapter]] = {}
    for source, adapter in _adapters(installed(GROUP) if points is None else points):
        kind = str(adapter.resource)
        if kind in found:
            raise AdapterConflict(f"two workload adapters are for {kind}: {found[kind][0]} and {source}")
        found[kind] = source, adapter
    return tuple(adapter for _, adapter in found.values())


def _adapters(points: Iterable[EntryPoint]) -> Iterator[tuple[str, Adapter]]:
    yield "the built-in one", JobAdapter()
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
