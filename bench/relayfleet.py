"""A fleet for measurements: a management cluster, workers and a relay, each in its own process, with TLS."""

from __future__ import annotations

import json
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Final

from bench.process import Cluster, Server, environment, server

_CALLS: Final = re.compile(
    r'^jobrelay_api_calls_total\{cluster="([^"]+)",code="[^"]*",verb="([A-Z]+)"\} (\S+)$', re.MULTILINE
)
_BEGAN: Final = re.compile(r"^jobrelay_status_defects_created (\S+)$", re.MULTILINE)
_WRITES: Final = ("POST", "PATCH", "DELETE")  # PUT is how the lease is renewed
_PATIENCE: Final = 300.0
_PAUSE: Final = 2.0  # seconds without an Event after which all are written


class RelayProcess(Server):
    """`jobrelay relay run` in its own process."""

    def __init__(self, process: subprocess.Popen[str], endpoint: str) -> None:
        super().__init__(process, [], 0.0)
        self._endpoint = endpoint
        self._began = _began(self._metrics())

    def calls(self) -> dict[tuple[str, str], int]:
        """Requests so far, by cluster and verb."""
        found: dict[tuple[str, str], int] = defaultdict(int)
        for cluster, verb, count in _CALLS.findall(self.check()):
            found[cluster, verb] += int(float(count))
        return found

    def check(self) -> str:
        """The metrics. A relay that has lost its lease starts again with counters of zero, so its figures are void."""
        try:
            text = self._metrics()
        except urllib.error.HTTPError as error:
            raise RuntimeError("the relay has lost its lease and is not ready again") from error
        if _began(text) != self._began:
            raise RuntimeError("the relay has lost its lease and begun anew: the machine is too busy to measure")
        return text

    def _metrics(self) -> str:
        with urllib.request.urlopen(f"{self._endpoint}/metrics", timeout=60) as answer:
            text: str = answer.read().decode()
            return text


def _began(metrics: str) -> str:
    """When the counters were made, which is when the relay became a candidate."""
    found = _BEGAN.search(metrics)
    assert found is not None
    return found[1]


class Writes:
    """The relay's writes between two readings of its counters."""

    def __init__(self, before: dict[tuple[str, str], int], after: dict[tuple[str, str], int]) -> None:
        made = {call: count - before.get(call, 0) for call, count in after.items() if call[1] in _WRITES}
        self.events = made.get(("management", "POST"), 0)  # nothing else is created there
        self.needed = sum(made.values()) - self.events
        self.deletions = sum(count for (_, verb), count in made.items() if verb == "DELETE")


def settle(ours: RelayProcess, before: dict[tuple[str, str], int], jobs: int) -> Writes:
    """Waits until the relay is done with so many Jobs: mirrors removed, Events written; returns all of its writes."""
    end, last = time.monotonic() + _PATIENCE, -1
    while True:
        made = Writes(before, ours.calls())
        if made.deletions >= jobs and made.events == last:
            return made
        if time.monotonic() > end:
            raise RuntimeError(f"only {made.deletions} of {jobs} mirrors were removed in {_PATIENCE:g} s")
        last = made.events
        time.sleep(_PAUSE)


@contextmanager
def relay(management: Cluster, workers: Sequence[Cluster], *options: str) -> Iterator[RelayProcess]:
    """Starts a relay with default settings but for `options`, and yields once it leads and has reached the workers.

    Fails if it has lost its lease meanwhile, since the measurement then includes a restart.
    """
    flags = [part for each in workers for part in ("--worker", f"{each.name}={each.kubeconfig}")]
    where = ["--kubeconfig", management.kubeconfig, "-o", "json", "--log-level", "error"]
    command = [sys.executable, "-m", "jobrelay", "relay", "run", *where, *flags, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(), process_group=0)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the relay ended with code {process.wait()}")
        ready = json.loads(line)
        if not ready["leads"]:
            raise RuntimeError(f"the relay does not lead: {ready}")
        ours = RelayProcess(process, ready["endpoint"])
        yield ours
        ours.check()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def servers(folder: pathlib.Path, groups: Sequence[Sequence[str]], *options: str) -> Iterator[list[Server]]:
    """Processes with clusters, one for each group of names, started together."""
    with ExitStack() as stack, ThreadPoolExecutor() as pool:
        begin = [
            pool.submit(stack.enter_context, server(folder / group[0], group, "scripted", *options)) for group in groups
        ]
        yield [each.result() for each in begin]
