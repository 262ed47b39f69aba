"""`jobrelay lint` as people run it."""

from __future__ import annotations

import json
import pathlib

import pytest
from click.testing import CliRunner, Result

from jobrelay.cli import root

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  managedBy: jobrelay.dev/relay
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}
"""
BAD = JOB.replace("train", "Train")


def lint(*arguments: object, stdin: str = "") -> Result:
    return CliRunner().invoke(root, ["lint", *map(str, arguments)], input=stdin, prog_name="jobrelay")


@pytest.fixture
def old(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "old.yaml"
    path.write_text(JOB)
    return path


@pytest.fixture
def new(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "new.json"
    path.write_text('{"status": {"active": -1}}')
    return path


def test_a_broken_rule_is_printed_and_the_code_is_1(old: pathlib.Path, new: pathlib.Path) -> None:
    result = lint("status", old, new)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{new}: error: S1: status.active: Invalid value: -1: must be greater than or equal to 0",
        "    The number of active pods is not negative.",
    ]


def test_a_legal_status_prints_nothing(old: pathlib.Path) -> None:
    result = lint("status", old, "-", stdin='{"status": {"active": 1}}')
    assert (result.exit_code, result.output) == (0, "")


def test_findings_as_json(old: pathlib.Path, new: pathlib.Path) -> None:
    (found,) = json.loads(lint("status", old, new, "-o", "json").stdout)
    assert (found["source"], found["severity"], found["rule"]) == (str(new), "error", "S1")


def test_nothing_found_as_json(old: pathlib.Path) -> None:
    assert json.loads(lint("status", old, "-", "-o", "json", stdin='{"status": {}}').stdout) == []


def test_jobs_of_files_folders_and_lists(tmp_path: pathlib.Path, old: pathlib.Path) -> None:
    (tmp_path / "more.yaml").write_text(f"{JOB}---\nkind: ConfigMap\n---\n{BAD}")
    result = lint("job", tmp_path)
    assert result.exit_code == 1
    assert [line.partition(": ")[0] for line in result.stdout.splitlines() if "error: " in line] == [
        f"{tmp_path / 'more.yaml'}, document 3"
    ]


def test_a_job_from_stdin_with_notes_alone_has_code_0() -> None:
    result = lint("job", "-", stdin=JOB)
    assert result.exit_code == 0
    assert result.stdout.startswith("stdin: note: mirror: spec.managedBy: is left out")


@pytest.mark.parametrize(
    ("arguments", "stdin", "problem"),
    [
        (("job", "gone.yaml"), "", "gone.yaml cannot be read: No such file or directory"),
        (("job", "-"), "kind: [", "stdin is not YAML"),
        (("job", "-"), "kind: ConfigMap", "there is no Job in -"),
        (("job", "-"), "- 1", "stdin is not a Kubernetes object"),
        (("status", "-", "-"), "", "cannot both be read from stdin"),
        (("job",), "", "Missing argument"),
    ],
)
def test_what_cannot_be_told_has_code_2(arguments: tuple[str, ...], stdin: str, problem: str) -> None:
    result = lint(*arguments, stdin=stdin)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_what_is_compared_must_be_a_job_and_a_status(old: pathlib.Path, new: pathlib.Path) -> None:
    assert "is not a Job" in lint("status", new, old).stderr
    assert "has no status" in lint("status", old, old).stderr
    wrong = lint("status", "-", new, stdin=JOB.replace("spec:\n", "spec: 1\nother:\n"))
    assert (wrong.exit_code, "is not a Job as an API server has it" in wrong.stderr) == (2, True)
