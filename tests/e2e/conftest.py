"""One embedded cluster that runs pods as processes, or any other: JOBRELAY_TEST_KUBECONFIG names its kubeconfig."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

import jobrelay


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    if other := os.environ.get("JOBRELAY_TEST_KUBECONFIG"):
        yield pathlib.Path(other).absolute()
        return
    command = [sys.executable, "-m", "jobrelay", "cluster", "start", "e2e", "--runtime", "process"]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(jobrelay.__file__).parents[1])}
    process = subprocess.Popen(
        [*command, "--dir", str(tmp_path_factory.mktemp("cluster"))],
        stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        assert ready[1:2] == ["ready"], ready
        yield pathlib.Path(ready[3])
        process.terminate()
