"""The processes of a measurement: the server under test and the helpers that put load on it, with their CPU and memory.

Both are read from /proc, so that nothing runs inside the server that a user would not run. Each process has its own
process group: Ctrl-C reaches only the measurement, which stops them in order.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

ROOT: Final = pathlib.Path(__file__).resolve().parents[1]
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def environment() -> dict[str, str]:
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that is ready."""

    name: str
    url: str
    kubeconfig: str


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used so far, all threads, user and system."""
    schedstat = [int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")]
    if schedstat:
        return sum(schedstat) / 1e9
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_of(pid: int) -> int:
    """Resident bytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


class Server:
    """`jobrelay cluster start` in its own process."""

    def __init__(self, process: subprocess.Popen[str], clusters: list[Cluster], seconds: float) -> None:
        self._process, self.clusters, self.seconds = process, clusters, seconds

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu(self) -> float:
        return cpu_of(self.pid)

    def memory(self) -> int:
        return memory_of(self.pid)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)


def compile_package() -> None:
    """Compiles the package, as an installer does, so that no measured start has to."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "src" / "jobrelay")], check=False)


@contextmanager
def server(folder: pathlib.Path, names: Sequence[str], runtime: str = "none", *more: str) -> Iterator[Server]:
    """Starts clusters from a cold interpreter and yields once all are ready; `more` are options of `cluster start`."""
    options = ["--dir", str(folder), "--runtime", runtime, *more]
    command = [sys.executable, "-m", "jobrelay", "cluster", "start", *names, *options]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(), process_group=0)
    try:
        assert process.stdout is not None
        clusters = [_ready(process.stdout.readline()) for _ in names]
        yield Server(process, clusters, time.perf_counter() - begin)
    finally:
        process.terminate()
        process.wait(timeout=30)
        assert process.stdout is not None
        process.stdout.close()


def _ready(line: str) -> Cluster:
    words = line.split()
    if len(words) != 4 or words[1] != "ready":
        raise RuntimeError(f"the server did not get ready: {line!r}")
    return Cluster(words[0], words[2], words[3])


class Helper:
    """A process that carries out commands: one line of JSON in, one line out."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, **what: Any) -> dict[str, Any]:
        self.tell(**what)
        return self.hear()

    def tell(self, **what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended with code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def helper(module: str, *arguments: str) -> Iterator[Helper]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(), process_group=0,
    )  # fmt: skip
    try:
        yield Helper(process)
    except BaseException:
        process.terminate()  # it may be in the midst of something
        raise
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()
