"""Every example runs as it is, and plain pytest passes the one that is a test."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

from .command import ENVIRONMENT, ROOT

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("0*.py") if "test" not in path.name)
TESTS = sorted(path.name for path in EXAMPLES.glob("*test*.py"))


def run(*arguments: str, cwd: pathlib.Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    command, variables = [sys.executable, *arguments], ENVIRONMENT | environment
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=variables, timeout=240, check=False)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(name: str) -> None:
    result = run(str(EXAMPLES / name))
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("name", TESTS)
def test_plain_pytest_passes_a_test(name: str, tmp_path: pathlib.Path) -> None:
    """Without plugins, and away from this repository's settings."""
    shutil.copy(EXAMPLES / name, tmp_path)
    result = run("-m", "pytest", "-q", "-W", "error", name, cwd=tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert result.returncode == 0, result.stdout
    assert "passed" in result.stdout


def test_managed_jobs_show_what_is_refused() -> None:
    shown = run(str(EXAMPLES / "04_managed_jobs.py")).stdout
    for words in ("field is immutable", "active>0 is invalid for finished job", "keep may not exceed atMost", "403"):
        assert words in shown


def test_the_job_controller_completes_every_job() -> None:
    shown = run(str(EXAMPLES / "06_job_controller.py")).stdout
    assert sorted(shown.splitlines()) == [f"instant-{number} is complete" for number in range(3)]


def test_the_training_learns_with_four_workers_here_and_delegated() -> None:
    shown = run(str(EXAMPLES / "08_training.py")).stdout
    alone, delegated = shown.split("A fleet with two workers, and the relay between them:")
    assert "created on management, ran on worker-" in delegated
    for part in (alone, delegated):
        assert "worker 0 of 4: train-worker-0-0.train" in part
        assert "the loss went from 4.534 to 0.00999, and all weights are equal" in part


def test_the_demo_moves_jobs_and_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    result = run("-m", "jobrelay", "demo", TMPDIR=str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    assert "10 of 10 Jobs ended as they should" in result.stdout
    assert "worker-2 -> worker-" in result.stdout
    assert "\033" not in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    assert all(name in listed for name in [*SCRIPTS, *TESTS])
