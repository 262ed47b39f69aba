"""The same relay for programs that are not asynchronous.

A thread runs an event loop with an `AsyncRelay` in it, and each method waits for one coroutine there. So it also works
where the calling thread has a loop of its own that already runs, as in notebooks.
"""

from __future__ import annotations

import asyncio
import pathlib
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Self, TypeVar

from jobrelay.sdk.names import LEASE, SYSTEM_NAMESPACE
from jobrelay.sdk.pod_logs import LogLine, LogOptions
from jobrelay.sdk.relay import (
    POD_TIMEOUT,
    WHOLE_LOGS,
    AsyncRelay,
    SubmittedWorkload,
    WorkloadLike,
    WorkloadResult,
)

__all__ = ["Relay"]

T = TypeVar("T")


class Relay:
    """The relay of a management cluster, found as kubectl would: `with Relay() as relay: ...`.

    Methods are those of AsyncRelay. Ctrl-C cancels what is waited for, and nothing else.
    """

    def __init__(
        self,
        kubeconfig: str | pathlib.Path | None = None,
        context: str | None = None,
        namespace: str | None = None,
        *,
        relay_namespace: str = SYSTEM_NAMESPACE,
        lease_name: str = LEASE,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="jobrelay", daemon=True)
        self._thread.start()
        self._opened: AbstractAsyncContextManager[AsyncRelay] = AsyncRelay.connect(
            kubeconfig, context, namespace, relay_namespace=relay_namespace, lease_name=lease_name
        )
        try:
            self._relay = self._call(self._opened.__aenter__())
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection to the management cluster; it may be called again."""
        if not self._loop.is_closed():
            self._call(self._opened.__aexit__(None, None, None))
            self._stop()

    def submit(self, manifest: Mapping[str, Any]) -> SubmittedWorkload:
        """Create a workload that the relay runs: managedBy is set to what its kind accepts, if it is not set."""
        return self._call(self._relay.submit(manifest))

    def submit_file(self, path: str | pathlib.Path) -> list[SubmittedWorkload]:
        """Create all workloads of a YAML or JSON file, or of a folder; none if one of them cannot be delegated."""
        return self._call(self._relay.submit_file(path))

    def wait(
        self,
        workload: WorkloadLike,
        within: float | None = None,
        *,
        note: Callable[[str], None] = lambda _: None,
    ) -> WorkloadResult:
        """Wait for the end of a workload, for at most `timeout` seconds; raises WaitTimeout."""
        return self._call(self._relay.wait(workload, within, note=note))

    def logs(
        self,
        workload: WorkloadLike,
        options: LogOptions = WHOLE_LOGS,
        *,
        within: float = POD_TIMEOUT,
        note: Callable[[str], None] = lambda _: None,
    ) -> Iterator[LogLine]:
        """The lines of a workload's pods, from the worker that runs it or ran it last."""
        lines = self._relay.logs(workload, options, within=within, note=note)
        try:
            while (line := self._call(anext(lines, None))) is not None:
                yield line
        finally:
            self._call(lines.aclose())

    def explain(self, workload: WorkloadLike, changes: Sequence[str] = ()) -> dict[str, Any]:
        """Why a workload is where it is, as the relay says it; see `AsyncRelay.explain`."""
        return self._call(self._relay.explain(workload, changes))

    def cancel(self, workload: WorkloadLike) -> bool:
        """Delete a workload, and with it what runs on its worker; False, and nothing is done, if it has ended."""
        return self._call(self._relay.cancel(workload))

    def rerun(self, workload: WorkloadLike, name: str = "") -> SubmittedWorkload:
        """Create a new workload from one that has ended, under a name that the server makes if none is given."""
        return self._call(self._relay.rerun(workload, name))

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
