"""Examples run as they are shown."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .command import ENVIRONMENT, ROOT

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py") if "test" not in path.name)
TESTS = sorted(path.name for path in EXAMPLES.glob("*test*.py"))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT, timeout=120, check=False)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(name: str) -> None:
    result = run(str(EXAMPLES / name))
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("name", TESTS)
def test_a_test_passes(name: str) -> None:
    result = run("-m", "pytest", "-q", str(EXAMPLES / name))
    assert result.returncode == 0, result.stdout


def test_the_demo_shows_what_is_refused() -> None:
    shown = run(str(EXAMPLES / "demo.py")).stdout
    for words in ("field is immutable", "active>0 is invalid for finished job", "keep may not exceed atMost", "403"):
        assert words in shown


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    assert all(name in listed for name in [*SCRIPTS, *TESTS])
