"""`jobrelay envtest`: a suite in another process, on one cluster or with clusters of its own."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys

from .command import COMMAND, ENVIRONMENT, run

SUITE = pathlib.Path(__file__).with_name("suite.py")


def test_a_suite_finds_the_cluster_and_its_exit_code_is_passed_on() -> None:
    done = run("envtest", "--", sys.executable, SUITE, "existing")
    assert (done.stdout, done.returncode) == ("true default kube-node-lease kube-public kube-system\n", 3), done.stderr


def test_a_suite_starts_clusters_from_the_assets(tmp_path: pathlib.Path) -> None:
    done = run("envtest", "--assets", tmp_path / "bin", "--", sys.executable, SUITE, "own", tmp_path)
    assert done.stdout.splitlines() == ['{"health":"true"} ok', "True", "[0, 0]"], done.stderr


def test_a_folder_is_only_filled_without_a_command(tmp_path: pathlib.Path) -> None:
    done = run("envtest", "--assets", tmp_path)
    assert done.stdout == f"export KUBEBUILDER_ASSETS={tmp_path}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["etcd", "kube-apiserver"]


def test_programs_of_others_stay(tmp_path: pathlib.Path) -> None:
    (tmp_path / "etcd").write_bytes(b"\x7fELF")
    done = run("envtest", "--assets", tmp_path)
    assert (done.returncode, (tmp_path / "etcd").read_bytes()) == (2, b"\x7fELF")
    assert "is not jobrelay's" in done.stderr


def test_without_a_command_there_is_nothing_to_run() -> None:
    done = run("envtest")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: no command is given")


def test_a_command_that_does_not_exist() -> None:
    done = run("envtest", "--", "/no/such/program")
    assert (done.returncode, "cannot be run" in done.stderr) == (2, True)


def test_a_signal_goes_to_the_command_and_the_cluster_ends_after_it() -> None:
    script = "trap 'echo stopped; exit 7' INT; echo running; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [*COMMAND, "envtest", "--", "sh", "-c", script], env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=30)[0], process.returncode) == ("stopped\n", 7)
