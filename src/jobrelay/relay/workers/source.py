"""Where it is written which workers there are: the seam, and its plain version for local use.

A source is a mapping of names to `WorkerSpec`s that changes, and tells when it did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from jobrelay.apimachinery.names import is_dns1123_subdomain
from jobrelay.kube import Clock, SystemClock
from jobrelay.kube.clock import sleep
from jobrelay.relay.workers.access import from_file
from jobrelay.relay.workers.files import LOOK_EVERY, KubeconfigFile, refreshed
from jobrelay.relay.workers.signal import Signal
from jobrelay.relay.workers.spec import WorkerSpec

__all__ = ["FlagSource", "Source", "parse_flag"]


class Source(Protocol):
    """Says which workers are registered."""

    @property
    def workers(self) -> Mapping[str, WorkerSpec]: ...

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called when `workers` has changed; returns how to end that."""
        ...

    async def wait_synced(self) -> None:
        """Returns once `workers` is complete."""
        ...

    async def run(self) -> None:
        """Keep `workers` current until cancelled."""
        ...


def parse_flag(text: str) -> tuple[str, Path]:
    """Read `NAME=KUBECONFIG`; raises ValueError."""
    name, separator, path = text.partition("=")
    if not separator or not path:
        raise ValueError(f"{text!r} is not NAME=KUBECONFIG")
    if problems := is_dns1123_subdomain(name):
        raise ValueError(f"{name!r} cannot be the name of a worker: {problems[0]}")
    return name, Path(path)


class FlagSource:
    """Workers named on the command line, in that order; their kubeconfigs are read again when they change."""

    def __init__(self, kubeconfigs: Mapping[str, Path], *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._files = {name: KubeconfigFile(path, from_file) for name, path in kubeconfigs.items()}
        self._changed: Signal[[]] = Signal()
        self._workers = self._specs()

    @property
    def workers(self) -> Mapping[str, WorkerSpec]:
        return self._workers

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        return self._changed.subscribe(callback)

    async def wait_synced(self) -> None:
        await asyncio.sleep(0)

    async def run(self) -> None:
        while True:
            await sleep(self._clock, LOOK_EVERY)
            if refreshed(self._files.values()):
                self._workers = self._specs()
                self._changed()

    def _specs(self) -> dict[str, WorkerSpec]:
        return {
            name: WorkerSpec(name, file.access, order=order) for order, (name, file) in enumerate(self._files.items())
        }
