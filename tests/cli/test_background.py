"""`start -d`, `list`, `stop`, `delete`: clusters behind the scenes."""

from __future__ import annotations

import json
import os
import pathlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from .command import ready, run, started


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder whose clusters are stopped at the end."""
    yield tmp_path
    run("cluster", "stop", "--all", "--dir", tmp_path)


def listed(folder: pathlib.Path) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(run("cluster", "list", "--dir", folder, "-o", "json").stdout)}


def test_detached_clusters_run_on_and_can_be_stopped_one_by_one(folder: pathlib.Path) -> None:
    result = run("cluster", "start", "-d", "--memory", "a", "b", "--dir", folder)
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [["a", "ready"], ["b", "ready"]]
    assert {row["state"] for row in listed(folder).values()} == {"running"}
    stopped = run("cluster", "stop", "a", "--dir", folder)
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "", "a stopped\n")
    assert [row["state"] for row in listed(folder).values()] == ["stopped", "running"]


def test_a_detached_cluster_has_a_session_and_a_log_of_its_own(folder: pathlib.Path) -> None:
    run("cluster", "start", "-d", "--memory", "dev", "--dir", folder)
    pid = listed(folder)["dev"]["pid"]
    assert os.getsid(pid) == pid
    assert (folder / "dev" / "log").exists()


def test_a_failure_in_the_background_is_told(folder: pathlib.Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run("cluster", "start", "-d", "dev", "--dir", folder, "--port", port)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"error: cluster 'dev' exited with code 2; the end of {folder}/dev/log:" in result.stderr
    assert f"  error: port {port} on 127.0.0.1 is taken\n  hint: " in result.stderr


def test_a_second_detached_start_leaves_the_first_alone(folder: pathlib.Path) -> None:
    with started("dev", "--memory", "--dir", folder) as process:
        ready(process)
        result = run("cluster", "start", "-d", "dev", "--dir", folder)
        assert (result.returncode, process.poll()) == (2, None)
        assert f"is already running (pid {process.pid})" in result.stderr


def test_a_list_shows_names_states_and_addresses(folder: pathlib.Path) -> None:
    with started("dev", "--memory", "--dir", folder) as process:
        _, _, url, kubeconfig = ready(process)
        head, row = run("cluster", "list", "--dir", folder).stdout.splitlines()
        assert head.split() == ["NAME", "STATE", "PID", "URL", "KUBECONFIG"]
        assert row.split() == ["dev", "running", str(process.pid), url, kubeconfig]
        assert run("cluster", "list", "--dir", folder, "-o", "name").stdout == "dev\n"


def test_an_empty_list_is_told_on_stderr(folder: pathlib.Path) -> None:
    result = run("cluster", "list", "--dir", folder)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", f"no clusters in {folder}\n")
    assert run("cluster", "list", "--dir", folder, "-o", "json").stdout == "[]\n"


def test_the_folder_can_come_from_the_environment(folder: pathlib.Path) -> None:
    assert str(folder) in run("cluster", "list", JOBRELAY_DIR=str(folder)).stderr
    assert f"{folder}/jobrelay" in run("cluster", "list", XDG_STATE_HOME=str(folder)).stderr


def test_a_running_cluster_is_deleted_by_force_only(folder: pathlib.Path) -> None:
    run("cluster", "start", "-d", "--memory", "dev", "--dir", folder)
    refused = run("cluster", "delete", "dev", "--dir", folder)
    assert (refused.returncode, "is running\nhint: stop it first" in refused.stderr) == (2, True)
    assert run("cluster", "delete", "dev", "--force", "--dir", folder).returncode == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("verb", ["stop", "delete"])
def test_what_does_not_exist_is_an_error(folder: pathlib.Path, verb: str) -> None:
    (folder / "dev").mkdir()
    result = run("cluster", verb, "dev", "--dir", folder)
    assert result.returncode == 2
    assert f"there is no cluster 'dev' in {folder}\nhint: " in result.stderr


def test_stopping_wants_names_or_all(folder: pathlib.Path) -> None:
    assert run("cluster", "stop", "--dir", folder).returncode == 2
    assert run("cluster", "stop", "dev", "--all", "--dir", folder).returncode == 2
