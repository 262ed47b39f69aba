"""Real Kubernetes programs for tests and figures: etcd, kube-apiserver, kube-controller-manager and kubectl.

    python tools/kube/assets.py            builds what is missing, prints the folder
    python tools/kube/assets.py --find     only looks; fails if something is missing

They are built once by the ordinary Go toolchain from public modules, into a cache folder outside the checkout. `go.mod`
beside this file names the release of Kubernetes; `etcd/go.mod` that of etcd, in a module of its own because the two
want different versions of what they share. A folder that already holds the programs is named by KUBEBUILDER_ASSETS or
JOBRELAY_KUBE_ASSETS.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Final

HERE: Final = pathlib.Path(__file__).resolve().parent
ETCD: Final = "etcd"
KUBERNETES: Final = ("kube-apiserver", "kube-controller-manager", "kubectl")
PROGRAMS: Final = (ETCD, *KUBERNETES)
NAMED_BY: Final = ("KUBEBUILDER_ASSETS", "JOBRELAY_KUBE_ASSETS")
NOT_HERE: Final = 2
STAMPED: Final = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
NO_GO: Final = "Go is not on PATH\nhint: install Go 1.25 or newer (https://go.dev/dl), then run: make kube-assets"


class CannotBuild(Exception):
    """The programs cannot be had on this machine; the text says why and what helps."""


def version() -> str:
    """The release of Kubernetes, such as v1.35.4."""
    found = re.search(r"^require k8s\.io/kubernetes (v[\d.]+)\b", (HERE / "go.mod").read_text(), re.MULTILINE)
    assert found is not None, "go.mod names no release of Kubernetes"
    return found[1]


def cache(environ: Mapping[str, str] = os.environ) -> pathlib.Path:
    """Where the programs are put when they are built."""
    if named := environ.get("JOBRELAY_KUBE_ASSETS"):
        return pathlib.Path(named).expanduser().absolute()
    caches = pathlib.Path(environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return caches / "jobrelay" / "kubernetes" / version()


def find(environ: Mapping[str, str] = os.environ) -> pathlib.Path | None:
    """A folder that has all programs, if there is one."""
    named = [pathlib.Path(environ[name]).expanduser().absolute() for name in NAMED_BY if environ.get(name)]
    return next((folder for folder in (*named, cache(environ)) if _missing(folder) == []), None)


def go(environ: Mapping[str, str] = os.environ) -> str | None:
    """The Go compiler, if there is one."""
    return shutil.which("go", path=environ.get("PATH"))


def build(environ: Mapping[str, str] = os.environ) -> pathlib.Path:
    """The folder with all programs, after those that are missing were built. Raises CannotBuild."""
    if (found := find(environ)) is not None:
        return found
    if (compiler := go(environ)) is None:
        raise CannotBuild(NO_GO)
    folder = cache(environ)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second finds them built
        missing = _missing(folder)
        if ETCD in missing:
            _compile(compiler, HERE / "etcd", {ETCD: "go.etcd.io/etcd/server/v3"}, "-s -w", folder, environ)
        wanted: dict[str, str] = {name: f"k8s.io/kubernetes/cmd/{name}" for name in KUBERNETES if name in missing}
        if wanted:
            _compile(compiler, HERE, wanted, f"-s -w {_stamp()}", folder, environ)
    return folder


def _missing(folder: pathlib.Path) -> list[str]:
    return [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]


def _stamp() -> str:
    """Linker flags that make the programs tell their release, as a release build does."""
    release = version()
    major, minor, _ = release.removeprefix("v").split(".")
    values = {"gitVersion": release, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(f"-X {package}.{name}={value}" for package in STAMPED for name, value in values.items())


def _compile(
    compiler: str,
    module: pathlib.Path,
    packages: Mapping[str, str],
    flags: str,
    folder: pathlib.Path,
    environ: Mapping[str, str],
) -> None:
    """Builds packages of a module; each program appears in the folder when it is whole."""
    print(f"building {', '.join(packages)}; this takes some minutes the first time", file=sys.stderr, flush=True)
    settings = {**environ, "GOFLAGS": "-mod=readonly -buildvcs=false", "CGO_ENABLED": "0"}
    fetched = _run([compiler, "mod", "download"], module, settings)
    if fetched.returncode:
        raise CannotBuild(f"the Go modules cannot be fetched: {fetched.stderr.strip()}")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for name, package in packages.items():
            made = pathlib.Path(scratch) / name
            line = [compiler, "build", "-trimpath", "-ldflags", flags, "-o", str(made), package]
            built = _run(line, module, settings)
            if built.returncode:
                raise RuntimeError(f"{name} does not compile: {built.stderr.strip()[-2000:]}")
            made.replace(folder / name)


def _run(line: list[str], module: pathlib.Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, cwd=module, env=environ, capture_output=True, text=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--find", action="store_true", help="build nothing")
    try:
        folder = find() if parser.parse_args().find else build()
    except CannotBuild as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_HERE
    if folder is None:
        print(f"error: {', '.join(PROGRAMS)} are not built\nhint: make kube-assets", file=sys.stderr)
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
