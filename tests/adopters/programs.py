"""The managers' programs: found where they are kept, built within a time, and run.

    python -m tests.adopters.programs --seconds 600     builds what is missing, the first of the order first

`../shared/oracle/adopters` builds them from public Go modules and starts them with their CRDs and webhooks.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from .managers import ORDER, Manager, load

TOOL: Final = pathlib.Path(__file__).parents[3] / "shared" / "oracle" / "adopters"
LEAST_SECONDS: Final = 60
"""A build for which less is left is not begun."""
READY_SECONDS: Final = 150


def lacking() -> str:
    """What this machine lacks to run any manager, or nothing."""
    if not TOOL.exists():
        return "../shared/oracle/adopters is not there"
    return next((f"{each} is not on PATH" for each in ("go", "openssl") if shutil.which(each) is None), "")


def folder(environ: Mapping[str, str] = os.environ) -> pathlib.Path:
    """Where the tool keeps what it has built."""
    named = environ.get("KUBE_ORACLE")
    return (pathlib.Path(named) if named else pathlib.Path.home() / ".cache" / "kube-oracle") / "adopters"


def versions() -> dict[str, str]:
    """The release of each adopter that the tool builds."""
    listed = subprocess.run([sys.executable, TOOL, "list"], capture_output=True, text=True, check=True).stdout
    return {name: version for name, _, version, *_ in (line.split() for line in listed.splitlines())}


def missing(manager: Manager, releases: Mapping[str, str]) -> list[str]:
    """The adopters of a manager that are not built."""
    return [
        adopter
        for adopter, programs in manager.programs.items()
        if not all((folder() / f"{program}-{releases[adopter]}").exists() for program in programs)
    ]


def build(seconds: float) -> list[str]:
    """Build what is missing until the time is over; returns the managers that are left out.

    What a build that is cut off has compiled stays in Go's cache: the next one goes on from there.
    """
    end = time.monotonic() + seconds
    releases = versions()
    wanted = [adopter for name in ORDER for adopter in missing(load(name), releases)]
    for adopter in [*wanted, *([] if kueuectl(releases).exists() else ["kueuectl"])]:
        left = end - time.monotonic()
        if left >= LEAST_SECONDS:
            print(f"building {adopter}", flush=True)
            _build(adopter, left)
    return [name for name in ORDER if missing(load(name), releases)]


def kueuectl(releases: Mapping[str, str]) -> pathlib.Path:
    """Kueue's command line, which is no manager; it may not be built."""
    return folder() / f"kueuectl-{releases['kueuectl']}"


def _build(adopter: str, seconds: float) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        process = subprocess.Popen(
            [sys.executable, TOOL, "build", adopter], env={**os.environ, "TMPDIR": scratch}, process_group=0
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f"{adopter} takes longer than the time that is left", flush=True)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@asynccontextmanager
async def running(manager: Manager, kubeconfig: pathlib.Path, scratch: pathlib.Path) -> AsyncIterator[None]:
    """The manager at work on a cluster, with its CRDs and its webhooks."""
    async with all_running(manager, {kubeconfig: scratch}):
        yield


@asynccontextmanager
async def all_running(manager: Manager, clusters: Mapping[pathlib.Path, pathlib.Path]) -> AsyncIterator[None]:
    """The manager at work on each of some clusters, by their kubeconfigs, with a folder for each."""
    processes = [await _start(manager, *each) for each in clusters.items()]
    try:
        async with asyncio.timeout(READY_SECONDS):
            for process in processes:
                await _ready(manager, process)
        yield
    except BaseException as error:
        for scratch in clusters.values():
            error.add_note(_logs(manager, scratch))
        raise
    finally:
        for process in processes:
            if process.returncode is None:
                process.terminate()
        for process in processes:
            await process.wait()


async def _start(manager: Manager, kubeconfig: pathlib.Path, scratch: pathlib.Path) -> asyncio.subprocess.Process:
    with (scratch / "adopters.log").open("wb") as log:
        return await asyncio.create_subprocess_exec(
            sys.executable, TOOL, "run", *manager.adopters, "--webhooks", "--kubeconfig", kubeconfig, "--dir", scratch,
            stdout=asyncio.subprocess.PIPE, stderr=log,
        )  # fmt: skip


async def _ready(manager: Manager, process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    for adopter in manager.adopters:
        said = (await process.stdout.readline()).decode().strip()
        assert said == f"{adopter} ready", f"{adopter}: {said}"


def _logs(manager: Manager, scratch: pathlib.Path) -> str:
    """The last words of the manager, and of what has started it."""
    paths = [scratch / "adopters.log", *(each for name in manager.adopters for each in (scratch / name).glob("*.log"))]
    return "\n".join(f"{path.name}: ...{path.read_text()[-3000:]}" for path in paths)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, required=True)
    left_out = build(parser.parse_args().seconds)
    print(f"not built, left out: {' '.join(left_out)}" if left_out else "all managers are built")


if __name__ == "__main__":
    main()
