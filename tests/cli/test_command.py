"""The command itself: quick to answer, and complete in every shell."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import jobrelay

from .command import ENVIRONMENT, run

HEAVY = {"aiohttp", "asyncio", "cryptography", "lightkube", "msgspec", "sqlite3", "ssl", "structlog", "yaml"}


def imported_by(*arguments: str) -> set[str]:
    """The modules that a call of the command imports."""
    script = (
        "import sys, json\n"
        f"sys.argv = ['jobrelay', *{list(arguments)!r}]\n"
        "from jobrelay.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["cluster", "--help"],
        ["cluster", "start", "--help"],
        ["relay", "run", "--help"],
        ["up", "--help"],
        ["get", "--help"],
        ["top", "--help"],
        ["demo", "--help"],
        ["explain", "--help"],
        ["logs", "--help"],
        ["simulate", "--help"],
        ["worker", "drain", "--help"],
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    found = imported_by(*arguments)
    assert not HEAVY & found
    assert len([name for name in found if name.startswith("jobrelay")]) < 28


def test_the_list_of_commands_imports_none_of_them() -> None:
    assert "jobrelay.cli.cluster" not in imported_by("--help")


@pytest.mark.parametrize("verb", ["list", "stop", "delete"])
def test_looking_after_clusters_imports_no_server(verb: str) -> None:
    assert not HEAVY & imported_by("cluster", verb, "--help")


def test_the_version_is_told() -> None:
    assert run("--version").stdout == f"jobrelay {jobrelay.__version__}\n"


def test_every_command_has_help() -> None:
    for arguments in ([], ["cluster"], ["cluster", "list"], ["cluster", "stop"], ["completion"], ["relay"], ["worker"]):
        result = run(*arguments, "--help")
        assert (result.returncode, result.stdout.startswith("Usage: jobrelay")) == (0, True)


def test_an_unknown_command_is_an_error() -> None:
    result = run("clutser")
    assert (result.returncode, "No such command 'clutser'" in result.stderr) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_completion_script(shell: str) -> None:
    script = run("completion", shell).stdout
    assert f"_JOBRELAY_COMPLETE={shell}_complete" in script


def test_completion_knows_commands() -> None:
    words = {"_JOBRELAY_COMPLETE": "bash_complete", "COMP_WORDS": "jobrelay cluster st", "COMP_CWORD": "2"}
    assert [line.split(",")[1] for line in run(**words).stdout.splitlines()] == ["start", "stop"]
