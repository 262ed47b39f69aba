"""Programs written with client-go and controller-runtime: built here from their source, then run on the cluster."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.clientgo

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pathlib.Path]:
    """Builds the Go program of a folder."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is missing: put `go` 1.25 or newer on PATH to build the client-go programs")

    def make(folder: str) -> pathlib.Path:
        program = tmp_path_factory.mktemp("go") / folder
        environment = {**os.environ, "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"}
        done = subprocess.run(
            [go, "build", "-o", str(program), "."], cwd=HERE / folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return program

    return make


@pytest.mark.parametrize("folder", ["clientgo", "controllerruntime"])
def test_program(build: Callable[[str], pathlib.Path], folder: str, kubeconfig: pathlib.Path, namespace: str) -> None:
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "NAMESPACE": namespace}
    done = subprocess.run([str(build(folder))], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    lines = done.stdout.splitlines()
    assert lines
    assert all(line.startswith("ok ") for line in lines), done.stdout
