"""Where workers are registered: the interface, and its implementation for workers named on the command line.

A source is a changing mapping of names to `WorkerSpec`s with change notification.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jobrelay.apimachinery.names import is_dns1123_subdomain
from jobrelay.control import Runnable
from jobrelay.kube import Client, Clock, SystemClock
from jobrelay.kube.clock import sleep
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.signal import Signal
from jobrelay.relay.workers.access import from_file
from jobrelay.relay.workers.connection import WorkerConnection
from jobrelay.relay.workers.kubeconfig_file import CHECK_INTERVAL, KubeconfigFile, refreshed
from jobrelay.relay.workers.spec import WorkerSpec


class WorkerSource(ABC):
    """Names the registered workers."""

    def __init__(self) -> None:
        self._workers: Mapping[str, WorkerSpec] = {}
        self._changed: Signal[[]] = Signal()

    @property
    def workers(self) -> Mapping[str, WorkerSpec]:
        return self._workers

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called when `workers` has changed; returns how to unsubscribe."""
        return self._changed.subscribe(callback)

    async def wait_synced(self) -> None:
        """Return once `workers` is complete."""
        await asyncio.sleep(0)

    @abstractmethod
    async def run(self) -> None:
        """Keep `workers` current until cancelled."""

    def leader_runnables(
        self, client: Client, workers: Mapping[str, WorkerConnection], metrics: RelayMetrics, writes: Callable[[], bool]
    ) -> Sequence[Runnable]:
        """What the leading relay has to run for this source; `client` reaches the management cluster."""
        return ()


def parse_flag(text: str) -> tuple[str, Path]:
    """Parse `NAME=KUBECONFIG`; raises ValueError."""
    name, separator, path = text.partition("=")
    if not separator or not path:
        raise ValueError(f"{text!r} is not NAME=KUBECONFIG")
    if problems := is_dns1123_subdomain(name):
        raise ValueError(f"{name!r} cannot be the name of a worker: {problems[0]}")
    return name, Path(path)


class FlagSource(WorkerSource):
    """Workers named on the command line, in that order; their kubeconfigs are read again when they change."""

    def __init__(self, kubeconfigs: Mapping[str, Path], *, clock: Clock | None = None) -> None:
        super().__init__()
        self._clock = clock or SystemClock()
        self._files = {name: KubeconfigFile(path, from_file) for name, path in kubeconfigs.items()}
        self._workers = self._specs()

    async def run(self) -> None:
        while True:
            await sleep(self._clock, CHECK_INTERVAL)
            if refreshed(self._files.values()):
                self._workers = self._specs()
                self._changed()

    def _specs(self) -> dict[str, WorkerSpec]:
        return {
            name: WorkerSpec(name, file.access, order=order) for order, (name, file) in enumerate(self._files.items())
        }
