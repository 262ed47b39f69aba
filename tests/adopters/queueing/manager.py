"""Real Kueue on a real control plane, with one configuration after another.

The tool beside the repository installs the CRDs and webhooks and starts the manager once. After that the manager is
started here, with the configuration that the tool has written and a family's own settings on top.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import yaml

from tests.adopters import programs
from tests.adopters.managers import load

from .objects import Obj

MANAGER: Final = load("kueue")
FAST: Final[Obj] = {
    "clientConnection": {"qps": 1000, "burst": 2000},
    "controller": {
        "groupKindConcurrency": {"Job.batch": 5, "Workload.kueue.x-k8s.io": 5, "LocalQueue.kueue.x-k8s.io": 2}
    },
}
"""Scripts are played side by side, and none of them should wait for another."""
READY_SECONDS: Final = 120.0


class Kueue:
    """An installed Kueue. `kubeconfig` is the cluster's, `folder` the one that the tool has used."""

    def __init__(self, kubeconfig: pathlib.Path, folder: pathlib.Path) -> None:
        self._kubeconfig, self._folder = kubeconfig, folder / "kueue"
        self._installed: Obj = yaml.safe_load((self._folder / "config.yaml").read_text())

    @asynccontextmanager
    async def running(self, settings: Obj) -> AsyncIterator[None]:
        """The manager at work with settings of its own."""
        config, log = self._folder / "settings.yaml", self._folder / "manager.log"
        config.write_text(yaml.safe_dump(_merged(_merged(self._installed, FAST), settings)))
        program = programs.folder() / f"kueue-{programs.versions()['kueue']}"
        environment = {**os.environ, "KUBECONFIG": str(self._kubeconfig), "TMPDIR": str(self._folder)}
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                program, f"--config={config}", stdout=output, stderr=output, env=environment
            )
        try:
            await self._ready(process, log)
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()

    async def _ready(self, process: asyncio.subprocess.Process, log: pathlib.Path) -> None:
        url = f"http://{self._installed['health']['healthProbeBindAddress']}/readyz"
        try:
            async with asyncio.timeout(READY_SECONDS):
                while not await asyncio.to_thread(_answers, url):
                    assert process.returncode is None, log.read_text()[-3000:]
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"Kueue is not ready: {log.read_text()[-3000:]}") from None


@asynccontextmanager
async def installed(kubeconfig: pathlib.Path, folder: pathlib.Path) -> AsyncIterator[Kueue]:
    """Kueue's CRDs and webhooks on a cluster."""
    async with programs.running(MANAGER, kubeconfig, folder):
        pass
    yield Kueue(kubeconfig, folder)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _merged(base: Obj, over: Obj) -> Obj:
    both = {
        key: _merged(base[key], value) if isinstance(value, dict) and key in base else value
        for key, value in over.items()
    }
    return {**base, **both}
