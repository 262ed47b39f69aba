"""`jobrelay lint`: says what an API server or a worker would refuse, without one."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.output import output_option, print_data

if TYPE_CHECKING:
    from jobrelay.kit.lint import LintFinding

_SOURCE = click.Path(allow_dash=True, path_type=pathlib.Path)
_FILE = click.Path(allow_dash=True, dir_okay=False, path_type=pathlib.Path)
_STDIN = pathlib.Path("-")


@click.group(short_help="Say what would be refused about Jobs and their statuses.")
def lint() -> None:
    """Say what would be refused about Jobs and their statuses, without a cluster.

    The exit code is 0 if nothing would be refused, 1 if something would, and 2 if that cannot be told.
    """


@lint.command(short_help="Name the rules that a new status would break.")
@click.argument("old", type=_FILE)
@click.argument("new", type=_FILE)
@output_option("text", "json")
def status(old: pathlib.Path, new: pathlib.Path, output: str) -> None:
    """Name each rule (S1 to S34) that would be broken if a Job's status were replaced.

    OLD is the Job as it is stored, NEW the Job with the status to write, or an object with nothing but a `status`.
    Both are YAML or JSON, `-` is stdin.

    \b
    jobrelay lint status old.yaml new.yaml
    kubectl get job train -o json | jobrelay lint status - new.yaml -o json
    """
    from jobrelay.apimachinery.decode import DecodeError
    from jobrelay.kit.lint import lint_status

    if old == new == _STDIN:
        raise Failure("OLD and NEW cannot both be read from stdin", "write one of them to a file")
    before, after = _only_object(old), _only_object(new)
    if not _is_job(before[1]):
        raise Failure(f"{before[0]} is not a Job", "OLD is the Job as it is stored: its spec decides what is legal")
    if "status" not in after[1]:
        raise Failure(f"{after[0]} has no status", "NEW is the Job with the status to write")
    try:
        found = lint_status(before[1], after[1])
    except DecodeError as error:
        raise Failure(f"{before[0]} is not a Job as an API server has it: {error}") from error
    _print([(after[0], each) for each in found], output)


@lint.command(short_help="Say what would be refused about new Jobs.")
@click.argument("sources", metavar="FILE|DIR...", type=_SOURCE, nargs=-1, required=True)
@output_option("text", "json")
def job(sources: tuple[pathlib.Path, ...], output: str) -> None:
    """Say what an API server would refuse about new Jobs, and a worker about their mirrors.

    Also says what the relay's mirrors leave out and which objects have to be on the worker. Files may have several
    documents and lists; objects of other kinds are left out. Folders are read without subfolders, `-` is stdin.

    \b
    jobrelay lint job train.yaml
    jobrelay lint job jobs/ -o json
    """
    from jobrelay.kit.lint import lint_job

    jobs = [each for source in dict.fromkeys(sources) for each in _objects(source) if _is_job(each[1])]
    if not jobs:
        raise Failure("there is no Job in " + ", ".join(map(str, sources)), "name files that have one")
    _print([(where, finding) for where, obj in jobs for finding in lint_job(obj)], output)


def _is_job(obj: dict[str, Any]) -> bool:
    return (obj.get("apiVersion"), obj.get("kind")) == ("batch/v1", "Job")


def _only_object(path: pathlib.Path) -> tuple[str, dict[str, Any]]:
    found = list(_objects(path))
    if len(found) != 1:
        raise Failure(f"{_name(path)} has {len(found)} objects", "name a file with one Job")
    return found[0]


def _objects(path: pathlib.Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file, a folder or stdin, with where they are; raises Failure."""
    from jobrelay.operate.errors import OperateError
    from jobrelay.operate.files import files_of, read_file, read_objects

    try:
        for each in [path] if path == _STDIN else files_of(path):
            text = sys.stdin.buffer.read() if each == _STDIN else read_file(each)
            for where, obj in read_objects(_name(each), text):
                if not isinstance(obj, dict):
                    raise Failure(f"{where} is not a Kubernetes object", "check that it is a manifest")
                yield where, obj
    except OperateError as error:
        raise Failure(str(error), error.hint) from error


def _name(path: pathlib.Path) -> str:
    return "stdin" if path == _STDIN else str(path)


def _print(found: list[tuple[str, LintFinding]], output: str) -> None:
    """Prints findings; exits with code 1 if one of them is an error."""
    if output == "json":
        print_data([{"source": where, **dataclasses.asdict(each)} for where, each in found], output)
    else:
        for where, each in found:
            _print_text(where, each)
    if any(each.severity == "error" for _, each in found):
        raise click.exceptions.Exit(1)


def _print_text(where: str, found: LintFinding) -> None:
    subject = f"{found.severity}: " + ("mirror: " if found.subject == "mirror" else "")
    field = f"{found.field}: " if found.field else ""
    click.echo(f"{where}: {subject}{f'{found.rule}: ' if found.rule else ''}{field}{found.message}")
    if found.meaning:
        click.echo(f"    {found.meaning}")
