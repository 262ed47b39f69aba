"""The image and the package: what the Dockerfile names is there and works, as far as that is seen without Docker."""

from __future__ import annotations

import fnmatch
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator

import click
import pytest

from jobrelay.cli import root
from jobrelay.operate.management import Installation, management_manifests
from tests.cli.command import ROOT

DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
IGNORED = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()


def instructions() -> Iterator[tuple[str, str]]:
    """The instructions of the Dockerfile, as word and rest; continued lines are joined."""
    for line in DOCKERFILE.replace("\\\n", " ").splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest


def copied() -> list[str]:
    """What is copied from the repository."""
    lines = [rest.split() for word, rest in instructions() if word == "COPY" and not rest.startswith("--from")]
    return [path for words in lines for path in words[:-1]]


def last(word: str) -> str:
    return [rest for name, rest in instructions() if name == word][-1]


def call(*command: object, cwd: pathlib.Path) -> None:
    result = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stderr


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    assert IGNORED[0] == "*"
    for path in copied():
        assert (ROOT / path).exists()
        assert f"!{path}" in IGNORED


def test_the_package_can_be_built_from_what_is_copied(tmp_path: pathlib.Path) -> None:
    for path in copied():
        copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy
        copy(ROOT / path, tmp_path / path)
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--wheel-dir", tmp_path / "wheels"]
    call(sys.executable, "-m", "pip", "wheel", *options, tmp_path, cwd=tmp_path)
    (wheel,) = (tmp_path / "wheels").glob("jobrelay-*.whl")
    assert "jobrelay/cli/__init__.py" in zipfile.ZipFile(wheel).namelist()


def test_the_python_of_the_image_is_one_that_we_support() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = {rest.split(":")[1].split("-")[0] for word, rest in instructions() if word == "FROM"}
    assert len(versions) == 1
    assert f"Programming Language :: Python :: {versions.pop()}" in project["classifiers"]


def test_it_runs_as_the_user_of_the_manifests_and_not_as_root() -> None:
    user = int(last("USER").split(":")[0])
    (deployment,) = [each for each in management_manifests(Installation()) if each["kind"] == "Deployment"]
    security = deployment["spec"]["template"]["spec"]["securityContext"]
    assert user == security["runAsUser"] != 0


def test_its_command_is_one_of_ours_with_options_that_exist() -> None:
    words = [word.strip(",") for word in shlex.split(last("CMD").strip("[]"))]
    assert last("ENTRYPOINT") == '["jobrelay"]'
    command: click.Command = root
    context = click.Context(root)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None
        command = found
    with command.make_context("jobrelay", words) as made:
        assert f":{last('EXPOSE')}" in str(made.params["listen"])


def test_nothing_is_kept_of_the_stage_that_builds() -> None:
    stages = [rest for word, rest in instructions() if word == "FROM"]
    assert [" AS " in stage for stage in stages] == [True, False]
    assert last("COPY").startswith("--from=build ")


def test_the_documented_command_names_the_dockerfile() -> None:
    pages = [ROOT / "docs" / "guides" / "real-clusters.md", ROOT / "deploy" / "Dockerfile"]
    for page in pages:
        assert re.search(r"docker build -f deploy/Dockerfile -t \S+ \.$", page.read_text(), re.MULTILINE)


@pytest.mark.parametrize("unwanted", ["site/*", "dist/*", ".venv/*", "*.pyc"])
def test_the_source_distribution_has_what_builds_it_and_nothing_made(tmp_path: pathlib.Path, unwanted: str) -> None:
    call(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, cwd=ROOT)
    (archive,) = tmp_path.glob("jobrelay-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/jobrelay/py.typed"} <= names
    assert fnmatch.filter(names, unwanted) == []
