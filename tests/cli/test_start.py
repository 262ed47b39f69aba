"""`jobrelay cluster start` in the foreground."""

from __future__ import annotations

import pathlib
import signal
import socket
import stat
from collections.abc import Iterator

import pytest

from jobrelay.cli.cluster.common import NOT_PULLED
from jobrelay.kube import connect
from jobrelay.kube.resource import CONFIGMAPS

from .command import end, ready, run, started


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def two_free_ports() -> int:
    """A port that is free and has a free neighbour."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            try:
                second.bind(("127.0.0.1", first.getsockname()[1] + 1))
            except OSError:
                continue
            base: int = first.getsockname()[1]
            return base


def test_a_cluster_says_when_it_is_ready_and_where(tmp_path: pathlib.Path) -> None:
    with started("dev", "--dir", tmp_path) as process:
        name, word, url, kubeconfig = ready(process)
        assert (name, word, kubeconfig) == ("dev", "ready", str(tmp_path / "dev.kubeconfig"))
        assert url.startswith("https://127.0.0.1:")
        assert stat.S_IMODE((tmp_path / "dev.kubeconfig").stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(tmp_path: pathlib.Path, number: signal.Signals) -> None:
    with started("dev", "--dir", tmp_path, "--memory") as process:
        ready(process)
        assert process.stderr is not None
        noted = process.stderr.readline()
        assert end(process, number) == 0
        assert process.stdout is not None
        assert (process.stdout.read(), noted + process.stderr.read()) == ("", NOT_PULLED + "\n")


def test_without_a_runtime_there_is_nothing_to_note(tmp_path: pathlib.Path) -> None:
    with started("dev", "--dir", tmp_path, "--memory", "--runtime", "none") as process:
        ready(process)
        assert end(process) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


async def test_the_next_start_has_the_same_port_and_data(tmp_path: pathlib.Path) -> None:
    with started("dev", "--dir", tmp_path) as process:
        first = ready(process)
        async with connect(tmp_path / "dev.kubeconfig") as client:
            made = await client.create(CONFIGMAPS, {"metadata": {"name": "a", "namespace": "default"}})
        end(process)
    with started("dev", "--dir", tmp_path) as process:
        assert ready(process) == first
        async with connect(tmp_path / "dev.kubeconfig") as client:
            assert (await client.get(CONFIGMAPS, "a", "default")).uid == made.uid


def test_several_clusters_run_in_one_process_on_ports_in_order(tmp_path: pathlib.Path) -> None:
    base = two_free_ports()
    with started("one", "two", "--dir", tmp_path, "--memory", "--port", base) as process:
        lines = [ready(process), ready(process)]
    assert [(line[0], line[2]) for line in lines] == [
        ("one", f"https://127.0.0.1:{base}"),
        ("two", f"https://127.0.0.1:{base + 1}"),
    ]


def test_a_taken_port_is_an_error(tmp_path: pathlib.Path, taken: int) -> None:
    result = run("cluster", "start", "dev", "--dir", tmp_path, "--port", taken)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: port {taken} on 127.0.0.1 is taken\nhint: choose another with --port, or end what uses it\n"
    )


def test_a_foreign_folder_is_an_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "letter.txt").touch()
    result = run("cluster", "start", "dev", "--dir", tmp_path)
    assert result.returncode == 2
    assert "holds files that are not a jobrelay cluster's\nhint: " in result.stderr


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    result = run("cluster", "start", "dev", "--dir", tmp_path / "file")
    assert result.returncode == 2
    assert "cannot be used: Not a directory\nhint: choose a folder that you can write to" in result.stderr


def test_a_second_start_is_an_error(tmp_path: pathlib.Path) -> None:
    with started("dev", "--dir", tmp_path, "--memory") as process:
        ready(process)
        result = run("cluster", "start", "dev", "--dir", tmp_path)
        assert result.returncode == 2
        assert f"is already running (pid {process.pid})\nhint: " in result.stderr


def test_if_one_cannot_start_none_runs(tmp_path: pathlib.Path) -> None:
    (tmp_path / "two").touch()
    result = run("cluster", "start", "one", "two", "--dir", tmp_path)
    assert result.returncode == 2
    assert '"state": "stopped"' in run("cluster", "list", "--dir", tmp_path, "-o", "json").stdout


@pytest.mark.parametrize("name", ["Dev", "a_b", "-", "../x", "a" * 64])
def test_a_bad_name_is_an_error(tmp_path: pathlib.Path, name: str) -> None:
    result = run("cluster", "start", "--dir", tmp_path, "--", name)
    assert result.returncode == 2
    assert "is not a valid name for a cluster\nhint: " in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a", "a"], "is given twice"),
        (["a", "b", "--port", "65535"], "--port 65535 leaves no room for 2 ports"),
        (["a", "--port", "0"], "1<=x<=65535"),
        ([], "Missing argument 'NAME...'"),
    ],
)
def test_what_cannot_be_meant_is_an_error(tmp_path: pathlib.Path, arguments: list[str], words: str) -> None:
    result = run("cluster", "start", "--dir", tmp_path, *arguments)
    assert result.returncode == 2
    assert words in result.stderr
