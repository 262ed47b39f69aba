"""Every command of the guides is run, or says why not."""

from __future__ import annotations

import pathlib
import re
import sys

import pytest

from tests.cli.command import ROOT

from .guides import Step, run_guide, script, steps

GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]


def runs(path: pathlib.Path) -> str:
    """What a guide's script consists of besides blocks that are not run."""
    return "\n".join(step.text for step in steps(path.read_text()) if step.directive not in ("not run", "file"))


@pytest.mark.guides
@pytest.mark.skipif(sys.platform != "linux", reason="pods run as processes on Linux only")
@pytest.mark.parametrize("path", [path for path in GUIDES if runs(path)], ids=lambda path: path.stem)
def test_the_commands_of_a_guide_work(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    result = run_guide(path.read_text(), tmp_path)
    assert result.returncode == 0, result.stdout[-6000:]


def test_a_block_is_run_unless_there_is_a_reason() -> None:
    page = "```sh\na\n```\ntext\n\n<!-- not run: needs a cloud -->\n```sh\nb\n```\n\n```python\nc\n```\n"
    assert list(steps(page)) == [Step(1, "run", "", "a\n"), Step(7, "not run", "needs a cloud", "b\n")]


def test_a_reason_is_for_one_block_only() -> None:
    page = "<!-- not run: needs a cloud -->\n```sh\na\n```\n\n```sh\nb\n```\n"
    assert [step.directive for step in steps(page)] == ["not run", "run"]


def test_of_a_console_block_the_commands_are_run_and_not_the_output() -> None:
    assert [step.text for step in steps("```console\n$ a\nNAME\n$ b\n```\n")] == ["a\nb\n"]


def test_a_failing_command_fails_the_guide_and_its_line_is_said(tmp_path: pathlib.Path) -> None:
    result = run_guide("# Guide\n\n```sh\ntrue\nfalse\n```\n\n```sh\necho never\n```\n", tmp_path)
    assert result.returncode == 1
    assert result.stdout == "=== line 3\n+ true\n+ false\n"


def test_files_and_earlier_commands_are_there(tmp_path: pathlib.Path) -> None:
    page = (
        "<!-- before: mkdir there -->\n<!-- file: there/a.yaml -->\n```yaml\na: $b\n```\n\n"
        "```sh\nexport C=there\n```\n\n```sh\ncat $C/a.yaml\n```\n"
    )
    assert run_guide(page, tmp_path).stdout.endswith("a: $b\n")


def test_a_command_in_the_background_is_awaited(tmp_path: pathlib.Path) -> None:
    page = "<!-- until Ctrl-C: is ready -->\n```sh\necho it is ready; sleep 1000\n```\n\n```sh\necho after\n```\n"
    assert run_guide(page, tmp_path).stdout.splitlines()[-1] == "after"


def test_a_command_that_ends_before_it_is_ready_fails_the_guide(tmp_path: pathlib.Path) -> None:
    result = run_guide("<!-- until Ctrl-C: is ready -->\n```sh\necho broken\n```\n", tmp_path)
    assert result.returncode == 1
    assert result.stdout.endswith("broken\nit has ended without 'is ready'\n")


def test_what_is_not_run_is_not_in_the_script() -> None:
    assert "docker" not in script([Step(1, "not run", "needs Docker", "docker build .\n")])


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_reasons_are_said_in_words(path: pathlib.Path) -> None:
    reasons = [step.value for step in steps(path.read_text()) if step.directive == "not run"]
    assert all(len(reason.split()) > 1 for reason in reasons)


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_commands_are_in_blocks_that_are_run(path: pathlib.Path) -> None:
    """Not in `bash` blocks, nor in those without a language, which are output."""
    found = re.findall(r"^[ ]*```(\w*)\n(.*?)^[ ]*```$", path.read_text(), re.DOTALL | re.MULTILINE)
    assert {language for language, _ in found} <= {"", "sh", "console", "python", "yaml", "toml"}
    output = "".join(text for language, text in found if not language)
    assert re.findall(r"^\s*(?:\$ |kubectl |jobrelay \w).*", output, re.MULTILINE) == []
