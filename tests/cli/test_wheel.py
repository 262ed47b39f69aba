"""The wheel alone gives all of it: the command, the examples, and types for those who import it.

It is installed without an index into an environment of its own, which finds our dependencies in the environment of the
tests but not our source. The lane `package` does the same with nothing but the wheel and an index.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

from .command import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("0*.py"))
CONSUMER = """\
from jobrelay.cluster import Cluster
from jobrelay.control import Controller
from jobrelay.kube import Cache, Client
from jobrelay.kube.resource import JOBS


async def count(cluster: Cluster) -> int:
    client = cluster.client()
    reveal_type(client)
    return len((await client.list(JOBS)).items)


async def wrong(client: Client) -> int:
    return await client.list(JOBS)
"""


def call(*command: str | pathlib.Path, cwd: pathlib.Path) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd, env=variables, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, "--quiet"]
    result = call(sys.executable, "-m", "pip", "wheel", *options, ROOT, cwd=folder)
    assert result.returncode == 0, result.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: pathlib.Path) -> pathlib.Path:
    """The folder of an environment's programs."""
    folder = wheel.parent / "environment"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    options = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check"]
    result = call(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel, cwd=folder)
    assert result.returncode == 0, result.stderr
    site = pathlib.Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "bin"


def test_the_wheel_has_types_and_data(wheel: pathlib.Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "jobrelay/py.typed" in names
    assert any(name.endswith(".json") for name in names)
    assert "jobrelay/workloads/builtin/jobset.yaml" in names
    assert not any(name.startswith(("tests/", "tools/", "docs/")) for name in names)


def test_the_command_comes_from_the_wheel(environment: pathlib.Path) -> None:
    assert call(environment / "jobrelay", "--help", cwd=environment).stdout.startswith("Usage: jobrelay")
    where = call(environment / "python", "-c", "import jobrelay; print(jobrelay.__file__)", cwd=environment).stdout
    assert where.startswith(str(environment.parent))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_on_the_wheel(environment: pathlib.Path, tmp_path: pathlib.Path, example: pathlib.Path) -> None:
    shutil.copytree(example.parent, tmp_path, dirs_exist_ok=True)
    how = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if "test" in example.name else []
    result = call(environment / "python", *how, example.name, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_pytest_finds_our_fixtures(environment: pathlib.Path, tmp_path: pathlib.Path) -> None:
    listed = call(environment / "python", "-m", "pytest", "--fixtures", "-q", cwd=tmp_path).stdout
    assert "jobrelay_cluster -- " in listed
    assert "jobrelay_fleet -- " in listed


def test_a_consumer_is_checked_against_our_types(environment: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "consumer.py").write_text(CONSUMER)
    options = ["--python-executable", environment / "python", "--cache-dir", tmp_path / "cache", "--strict"]
    result = call(sys.executable, "-m", "mypy", *options, "consumer.py", cwd=tmp_path)
    notes = [line.split(": ", 2)[1:] for line in result.stdout.splitlines() if line.startswith("consumer.py")]
    assert notes == [
        ["note", 'Revealed type is "jobrelay.kube.client.Client"'],
        ["error", 'Incompatible return value type (got "ObjectList", expected "int")  [return-value]'],
    ]
