"""The pytest plugin in suites of others: what tests get, what they see when they fail, and what it costs the rest."""

from __future__ import annotations

import importlib.metadata
import pathlib
import subprocess
import sys

import pytest

from tests.cli.command import ROOT

from .suites import outcomes, run_pytest, run_suite

EXAMPLES = sorted(path.name for path in (ROOT / "examples" / "testing").glob("test_*.py"))
CLUSTER = """\
import asyncio, os, pytest
from jobrelay.kube import connect
from jobrelay.kube.resource import CONFIGMAPS, EVENTS_CORE, JOBS, NAMESPACES, PODS

SEEN = []

@pytest.mark.parametrize("time", [1, 2])
def test_same_names(jobrelay_cluster, time):
    body = {"metadata": {"name": "same"}}
    jobrelay_cluster.call(lambda client: client.create(CONFIGMAPS, body, jobrelay_cluster.namespace))
    SEEN.append((jobrelay_cluster.url, jobrelay_cluster.namespace))

def test_one_cluster_and_two_namespaces(jobrelay_cluster):
    (url, first), (again, second) = SEEN
    assert url == again == jobrelay_cluster.url and first != second

def test_kubeconfig_variable(jobrelay_kubeconfig, jobrelay_cluster):
    assert os.environ["KUBECONFIG"] == str(jobrelay_cluster.kubeconfig)
    assert jobrelay_cluster.kubeconfig.stat().st_mode & 0o077 == 0

def test_no_kubeconfig_variable(jobrelay_cluster):
    assert "KUBECONFIG" not in os.environ

def test_under_a_running_loop(jobrelay_cluster):
    async def names():
        async with connect(jobrelay_cluster.kubeconfig) as client:
            there = {each.name for each in (await client.list(NAMESPACES)).items}
        assert jobrelay_cluster.namespace in there
        assert jobrelay_cluster.call(lambda client: client.list(JOBS)) is not None
    asyncio.run(names())

def test_wrong(jobrelay_cluster):
    async def failing(client):
        spec = {"containers": [{"name": "main", "image": "x"}], "nodeSelector": {"disk": "none"}}
        body = {"metadata": {"name": "stuck"}, "spec": spec}
        await client.create(PODS, body, jobrelay_cluster.namespace)
        watch = client.watch(EVENTS_CORE, jobrelay_cluster.namespace, send_initial_events=True)
        async with asyncio.timeout(120), watch as events:
            async for event in events:
                if event.object.decode().get("reason") == "FailedScheduling":
                    return
    jobrelay_cluster.call(failing)
    assert False

def test_cluster_dies(jobrelay_cluster, _jobrelay_session_cluster):
    _jobrelay_session_cluster.command._process.kill()
    _jobrelay_session_cluster.command._process.wait()

def test_after_its_death(jobrelay_cluster):
    pass
"""


@pytest.fixture(scope="module")
def cluster_suite(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    return run_suite(tmp_path_factory.mktemp("suite"), CLUSTER)


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    (found,) = {each.value for each in importlib.metadata.entry_points(group="pytest11", name="jobrelay")}
    assert found == "jobrelay.testing.plugin"


@pytest.mark.parametrize(
    "test",
    [
        "test_same_names", "test_one_cluster_and_two_namespaces", "test_kubeconfig_variable",
        "test_no_kubeconfig_variable", "test_under_a_running_loop",
    ],
)  # fmt: skip
def test_tests_with_a_cluster_pass(cluster_suite: subprocess.CompletedProcess[str], test: str) -> None:
    assert outcomes(cluster_suite)[test] == "passed", cluster_suite.stdout


def test_a_failure_shows_the_events_of_its_namespace(cluster_suite: subprocess.CompletedProcess[str]) -> None:
    assert outcomes(cluster_suite)["test_wrong"] == "failed"
    assert "jobrelay: events in test-wrong-" in cluster_suite.stdout
    assert "Warning Pod/stuck FailedScheduling" in cluster_suite.stdout


def test_a_dead_cluster_is_said_without_a_traceback(cluster_suite: subprocess.CompletedProcess[str]) -> None:
    assert outcomes(cluster_suite)["test_after_its_death"] == "error"
    assert "ERROR test_suite.py::test_after_its_death - Failed: `jobrelay cluster start" in cluster_suite.stdout
    assert "exited with code -9" in cluster_suite.stdout


def test_a_cluster_that_cannot_start_says_why(tmp_path: pathlib.Path) -> None:
    arguments = "import pytest\n@pytest.fixture(scope='session')\ndef jobrelay_cluster_arguments():\n    return {}\n"
    text = arguments.format(["--cpu=many"]) + "def test_it(jobrelay_cluster):\n    pass\n"
    result = run_suite(tmp_path, text)
    assert (result.returncode, outcomes(result)) == (1, {"test_it": "error"})
    assert "error: --cpu many" in result.stdout
    assert "Traceback" not in result.stdout


def test_pods_of_a_fleet_run_as_processes_if_that_is_chosen(tmp_path: pathlib.Path) -> None:
    if sys.platform != "linux":
        pytest.skip("pods run as processes on Linux only")
    text = """
def test_it(jobrelay_fleet):
    container = {"name": "main", "image": "busybox", "command": ["echo", "hello from", "a worker"]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec": pod}}}
    made = jobrelay_fleet.relay.submit(body)
    assert jobrelay_fleet.relay.wait(made, within=120).succeeded
    assert [line.text for line in jobrelay_fleet.relay.logs(made)] == ["hello from a worker"]
    assert list(jobrelay_fleet.workers) == ["worker-1"]
"""
    result = run_suite(tmp_path, text, "--jobrelay-runtime=process", "--jobrelay-workers=1")
    assert outcomes(result) == {"test_it": "passed"}, result.stdout


def test_settings_are_in_the_configuration_file_too(tmp_path: pathlib.Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\njobrelay_runtime = docker\n")
    result = run_suite(tmp_path, "def test_it(jobrelay_runtime):\n    pass\n")
    assert "jobrelay_runtime is 'docker', and must be one of scripted, process" in result.stdout


def test_runs_that_do_not_use_it_import_nothing_else_of_ours(tmp_path: pathlib.Path) -> None:
    text = """
import sys
def test_it():
    ours = {name for name in sys.modules if name.split(".")[0] == "jobrelay"}
    assert ours == {"jobrelay", "jobrelay.lazy", "jobrelay.testing", "jobrelay.testing.plugin"}
    assert not {"aiohttp", "msgspec", "click", "yaml"} & set(sys.modules)
"""
    result = run_suite(tmp_path, text)
    assert outcomes(result) == {"test_it": "passed"}, result.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_passes(name: str, tmp_path: pathlib.Path) -> None:
    """Warnings of client libraries about their own connections are not ours to mend."""
    (tmp_path / name).write_text((ROOT / "examples" / "testing" / name).read_text())
    result = run_pytest(tmp_path, "-W", "default", "-rs", name)
    assert set(outcomes(result).values()) == {"passed"}, result.stdout


def test_every_example_is_listed() -> None:
    listed = (ROOT / "examples" / "README.md").read_text()
    assert all(f"testing/{name}" in listed for name in EXAMPLES)
