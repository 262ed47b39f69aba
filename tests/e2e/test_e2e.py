"""Kubernetes' own specs for Jobs, CronJobs, the TTL of finished Jobs and the API machinery, on a cluster that runs pods
as processes."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any, Final

import pytest
import yaml

from . import running
from .building import HERE, NoModules, Programs, build

pytestmark = pytest.mark.e2e

FOCUS: Final = r"\[sig-apps\] (Job|CronJob|TTLAfterFinished) |\[sig-api-machinery\] |\[sig-scheduling\] LimitRange "
LEFT_OUT: Final[dict[str, str]] = yaml.safe_load((HERE / "left_out.yaml").read_text())
SPECS: Final = (HERE / "specs.txt").read_text().splitlines()


@pytest.fixture(scope="session")
def programs() -> Programs:
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is missing: put `go` 1.25 or newer on PATH to build the specs")
    try:
        return build(go)
    except NoModules as error:
        pytest.skip(f"the Go modules of the specs cannot be fetched: {error}")


@pytest.fixture(scope="session")
def ended(
    programs: Programs, kubeconfig: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """How the specs ended that are in focus, by name: all ran together."""
    output, specs = running.run(programs, kubeconfig, FOCUS, "|".join(LEFT_OUT), tmp_path_factory.mktemp("run"))
    assert specs, output[-4000:]
    return {running.name(spec): spec for spec in specs}


def test_all_specs_are_listed(ended: dict[str, dict[str, Any]]) -> None:
    assert sorted(ended) == SPECS


@pytest.mark.parametrize("name", SPECS)
def test_spec(ended: dict[str, dict[str, Any]], name: str) -> None:
    spec = ended[name]
    if spec["State"] == "skipped":
        pytest.skip(running.why(spec))
    assert spec["State"] == "passed", running.why(spec)
