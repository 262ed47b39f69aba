"""Compiles specs of Kubernetes (workloads, API machinery) with the ordinary Go toolchain, once, into a cache folder."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

HERE: Final = pathlib.Path(__file__).parent
SOURCES: Final = ("go.mod", "go.sum", "main_test.go")
GINKGO: Final = "github.com/onsi/ginkgo/v2/ginkgo"
FETCH_SECONDS: Final = 300
BUILD_SECONDS: Final = 15 * 60


class NoModules(Exception):
    """The Go modules cannot be had here."""


@dataclass(frozen=True)
class Programs:
    """The compiled specs, and Ginkgo's own program, which runs several of them at a time."""

    ginkgo: pathlib.Path
    specs: pathlib.Path


def _programs() -> Programs:
    folder = _cache()
    return Programs(folder / "ginkgo", folder / "e2e.test")


def are_built() -> bool:
    """Whether nothing is left to compile."""
    programs = _programs()
    return programs.specs.exists() and programs.ginkgo.exists()


def build(go: str) -> Programs:
    """Compiles what is not compiled yet. Raises NoModules; an AssertionError carries what the compiler says."""
    programs = _programs()
    environment = {**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false", "CGO_ENABLED": "0"}
    if not are_built():
        fetched = _run([go, "mod", "download"], environment, FETCH_SECONDS)
        if fetched.returncode:
            raise NoModules(fetched.stderr.strip().rpartition("\n")[2])
    _compile([go, "build"], GINKGO, programs.ginkgo, environment)
    _compile([go, "test", "-c"], ".", programs.specs, environment)
    return programs


def _cache() -> pathlib.Path:
    """One folder for each state of the sources, outside the checkout."""
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in SOURCES)).hexdigest()
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = caches / "jobrelay" / "e2e" / digest[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _compile(command: list[str], package: str, to: pathlib.Path, environment: Mapping[str, str]) -> None:
    if to.exists():
        return
    with tempfile.TemporaryDirectory(dir=to.parent) as scratch:
        made = pathlib.Path(scratch) / to.name
        line = [*command, "-trimpath", "-ldflags", "-s -w", "-o", str(made), package]
        done = _run(line, environment, BUILD_SECONDS)
        assert done.returncode == 0, done.stderr
        made.replace(to)


def _run(command: list[str], environment: Mapping[str, str], seconds: int) -> subprocess.CompletedProcess[str]:
    line = ["nice", *command]
    return subprocess.run(line, cwd=HERE, env=environment, capture_output=True, text=True, timeout=seconds)


if __name__ == "__main__":  # for .ci/run, which leaves more time where they are not
    sys.exit(0 if are_built() else 1)
