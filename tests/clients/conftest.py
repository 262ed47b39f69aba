"""One embedded cluster for the session, or any other: JOBRELAY_TEST_KUBECONFIG names its kubeconfig.

The cluster runs as its own process, started by the command that people use; every test gets a namespace of its own.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from kubernetes import client, config, watch

import jobrelay

from .kubectl import LEAST, Kubectl, named_kubectls, version


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    if other := os.environ.get("JOBRELAY_TEST_KUBECONFIG"):
        yield pathlib.Path(other).absolute()
        return
    with started(tmp_path_factory.mktemp("cluster"), "--runtime", "none") as path:
        yield path


@pytest.fixture(scope="session")
def process_kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """Of an embedded cluster as it comes: its pods run as processes of this machine."""
    with started(tmp_path_factory.mktemp("cluster")) as path:
        yield path


@contextmanager
def started(folder: pathlib.Path, *options: str) -> Iterator[pathlib.Path]:
    command = [sys.executable, "-m", "jobrelay", "cluster", "start", "clients", "--memory", *options]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(jobrelay.__file__).parents[1])}
    process = subprocess.Popen([*command, "--dir", str(folder)], stdout=subprocess.PIPE, text=True, env=environment)
    with process:
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        assert ready[1:2] == ["ready"], ready
        yield pathlib.Path(ready[3])
        process.terminate()


@pytest.fixture(scope="session")
def api(kubeconfig: pathlib.Path) -> Iterator[client.ApiClient]:
    """The official Python client, as the admin."""
    with config.new_client_from_config(str(kubeconfig)) as made:
        yield made


@pytest.fixture(scope="session")
def new_namespace(api: client.ApiClient) -> Iterator[Callable[[], str]]:
    """Makes namespaces that are complete, with the default ServiceAccount; they are deleted at the end."""
    core = client.CoreV1Api(api)
    names = (f"clients-{uuid.uuid4().hex[:6]}-{number}" for number in itertools.count())
    made = []

    def make() -> str:
        name = next(names)
        core.create_namespace({"metadata": {"name": name}})
        made.append(name)
        for _ in watch.Watch().stream(core.list_namespaced_service_account, name, timeout_seconds=30):
            return name
        raise AssertionError(f"namespace {name} did not get a ServiceAccount")

    yield make
    for name in made:
        core.delete_namespace(name)


@pytest.fixture
def namespace(new_namespace: Callable[[], str]) -> str:
    return new_namespace()


@pytest.fixture(scope="session", params=named_kubectls() or [""])
def program(request: pytest.FixtureRequest) -> pathlib.Path:
    if not request.param or version(request.param) < LEAST:
        pytest.skip("no kubectl of version 1.32 or newer: put one on PATH, or its path into KUBECTL")
    return pathlib.Path(request.param)


@pytest.fixture(scope="session")
def admin(program: pathlib.Path, kubeconfig: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl with rights to everything, in the namespace "default"; its home and caches live as long as the
    session."""
    return Kubectl(program, kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture
def kubectl(admin: Kubectl, namespace: str) -> Kubectl:
    """kubectl in the namespace of the test."""
    return admin.within(namespace)


@pytest.fixture
def process_kubectl(
    program: pathlib.Path, process_kubeconfig: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> Kubectl:
    """kubectl in a namespace of the test's own, on a cluster whose pods are processes."""
    name = f"run-{uuid.uuid4().hex[:8]}"
    made = Kubectl(program, process_kubeconfig, tmp_path_factory.mktemp("home"), name)
    made("create", "namespace", name)
    made("wait", "--for=create", "serviceaccount/default", "--timeout=30s")
    return made
