"""Suites of others: pytest in a process and a folder of its own, with no plugin but ours."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

from tests.cli.command import ENVIRONMENT

OUTCOME = re.compile(r"^\S*::(\w+)(?:\[.*\])? (PASSED|FAILED|ERROR|SKIPPED)", re.MULTILINE)


def run_suite(folder: pathlib.Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs a file of tests to its end."""
    (folder / "test_suite.py").write_text(text)
    return run_pytest(folder, *options)


def run_pytest(folder: pathlib.Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "jobrelay",
        "-p",
        "no:cacheprovider",
        "-v",
        "-W",
        "error",
        *options,
    ]
    variables = ENVIRONMENT | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    variables.pop("KUBECONFIG", None)
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=400, check=False)


def outcomes(result: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What became of each test of a suite."""
    return {name: outcome.lower() for name, outcome in OUTCOME.findall(result.stdout)}
