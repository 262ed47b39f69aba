"""The pytest plugin: options and fixtures.

pytest imports this module in every run where jobrelay is installed, so it imports nothing that costs time; the rest of
jobrelay is imported by the first test that asks for a fixture.

Clusters are started once for a session (with pytest-xdist, once for each of its processes) and keep nothing on disk
afterwards. Each test gets a namespace of its own.
"""

from __future__ import annotations

import contextlib
import pathlib
import sys
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from jobrelay.testing.embedded import EmbeddedCluster, EmbeddedFleet
    from jobrelay.testing.failure import FailureReport
    from jobrelay.testing.session import SessionClusters

__all__: list[str] = []

RUNTIMES = ("scripted", "process")
_REPORTS: pytest.StashKey[list[FailureReport]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options; each has a setting of the same name for pytest's configuration file."""
    group = parser.getgroup("jobrelay", "embedded Kubernetes clusters (jobrelay)")
    runtime = "how pods run on embedded clusters: simulated by their annotations, or as processes of this machine"
    group.addoption("--jobrelay-runtime", choices=RUNTIMES, help=f"{runtime} [scripted]")
    group.addoption("--jobrelay-workers", type=int, metavar="N", help="the number of a fleet's workers [2]")
    parser.addini("jobrelay_runtime", f"{runtime}: scripted or process", default="scripted")
    parser.addini("jobrelay_workers", "the number of a fleet's workers", default="2")


@pytest.fixture(scope="session")
def jobrelay_runtime(request: pytest.FixtureRequest) -> str:
    """How pods run: `scripted` or `process`."""
    chosen = str(request.config.getoption("jobrelay_runtime") or request.config.getini("jobrelay_runtime"))
    if chosen not in RUNTIMES:
        raise pytest.UsageError(f"jobrelay_runtime is {chosen!r}, and must be one of {', '.join(RUNTIMES)}")
    return chosen


@pytest.fixture(scope="session")
def jobrelay_cluster_arguments() -> Sequence[str]:
    """More options of `jobrelay cluster start` for the cluster; meant to be overridden."""
    return ()


@pytest.fixture(scope="session")
def jobrelay_fleet_arguments() -> Sequence[str]:
    """More options of `jobrelay up` for the fleet; meant to be overridden."""
    return ()


@pytest.fixture(scope="session")
def _jobrelay_session_cluster(
    tmp_path_factory: pytest.TempPathFactory, jobrelay_runtime: str, jobrelay_cluster_arguments: Sequence[str]
) -> Iterator[SessionClusters]:
    from jobrelay.testing.session import start_cluster

    with _start_failures():
        clusters = start_cluster(tmp_path_factory.mktemp("jobrelay"), jobrelay_runtime, jobrelay_cluster_arguments)
    yield clusters
    clusters.command.stop()


@pytest.fixture(scope="session")
def _jobrelay_session_fleet(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    jobrelay_runtime: str,
    jobrelay_fleet_arguments: Sequence[str],
) -> Iterator[SessionClusters]:
    from jobrelay.testing.session import start_fleet

    workers = int(request.config.getoption("jobrelay_workers") or request.config.getini("jobrelay_workers"))
    with _start_failures():
        folder = tmp_path_factory.mktemp("jobrelay")
        clusters = start_fleet(folder, jobrelay_runtime, workers, jobrelay_fleet_arguments)
    yield clusters
    clusters.command.stop()


@pytest.fixture
def jobrelay_cluster(
    request: pytest.FixtureRequest, _jobrelay_session_cluster: SessionClusters, tmp_path: pathlib.Path
) -> Iterator[EmbeddedCluster]:
    """An embedded Kubernetes cluster with a namespace for this test, as `jobrelay.testing.EmbeddedCluster`."""
    from jobrelay.testing.embedded import open_cluster

    with (
        _start_failures(),
        open_cluster(_jobrelay_session_cluster, request.node.name, tmp_path) as cluster,
    ):
        _note_for_failure(request.node, _jobrelay_session_cluster, cluster.namespace)
        yield cluster


@pytest.fixture
def jobrelay_fleet(
    request: pytest.FixtureRequest, _jobrelay_session_fleet: SessionClusters, tmp_path: pathlib.Path
) -> Iterator[EmbeddedFleet]:
    """A management cluster, workers and the relay, as `jobrelay.testing.EmbeddedFleet`."""
    from jobrelay.testing.embedded import open_fleet

    with _start_failures(), open_fleet(_jobrelay_session_fleet, request.node.name, tmp_path) as fleet:
        _note_for_failure(request.node, _jobrelay_session_fleet, fleet.namespace)
        yield fleet


@pytest.fixture
def jobrelay_kubeconfig(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Sets KUBECONFIG to the fleet's management cluster if the test uses a fleet, otherwise to the cluster.

    The official client reads the variable only when it is imported, so its setting is updated as well.
    """
    fixture = "jobrelay_fleet" if "jobrelay_fleet" in request.fixturenames else "jobrelay_cluster"
    kubeconfig: pathlib.Path = request.getfixturevalue(fixture).kubeconfig
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    if official := sys.modules.get("kubernetes.config.kube_config"):
        monkeypatch.setattr(official, "KUBE_CONFIG_DEFAULT_LOCATION", str(kubeconfig))
    return kubeconfig


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds to the report of a failed test what the clusters say."""
    report = yield
    if report.failed and call.when == "call":
        for each in item.stash.get(_REPORTS, []):
            report.sections.extend(each.sections())
    return report


def _note_for_failure(item: pytest.Item, clusters: SessionClusters, namespace: str) -> None:
    from jobrelay.testing.failure import FailureReport

    item.stash.setdefault(_REPORTS, []).append(FailureReport(clusters, namespace))


@contextlib.contextmanager
def _start_failures() -> Iterator[None]:
    """Turns a FleetError into a failure without a traceback, which would say nothing about the cause."""
    from jobrelay.fleet.errors import FleetError

    try:
        yield
    except FleetError as error:
        pytest.fail(f"{error}\nhint: {error.hint}" if error.hint else str(error), pytrace=False)
