"""Examples run as they are shown."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from .command import ENVIRONMENT, ROOT

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("0*.py") if "test" not in path.name)
TESTS = sorted(path.name for path in EXAMPLES.glob("*test*.py"))


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, variables = [sys.executable, *arguments], ENVIRONMENT | environment
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=variables, timeout=240, check=False)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(name: str) -> None:
    result = run(str(EXAMPLES / name))
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("name", TESTS)
def test_a_test_passes(name: str) -> None:
    result = run("-m", "pytest", "-q", str(EXAMPLES / name))
    assert result.returncode == 0, result.stdout


def test_managed_jobs_show_what_is_refused() -> None:
    shown = run(str(EXAMPLES / "04_managed_jobs.py")).stdout
    for words in ("field is immutable", "active>0 is invalid for finished job", "keep may not exceed atMost", "403"):
        assert words in shown


def test_the_demo_moves_jobs_and_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    result = run(str(EXAMPLES / "demo.py"), TMPDIR=str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    assert "10 of 10 Jobs ended as they should" in result.stdout
    assert "worker-2 -> worker-" in result.stdout
    assert "\033" not in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    assert all(name in listed for name in ["demo.py", *SCRIPTS, *TESTS])
