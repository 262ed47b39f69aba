"""Which adapters a relay has: the built-in ones and those of installed packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from jobrelay.cli.errors import Failure
from jobrelay.cli.relay.tuning import Tuning
from jobrelay.kube import Resource
from jobrelay.kube.resource import JOBS
from jobrelay.workloads import AdapterConflict, JobAdapter, load_adapters

PIS = Resource("example.com", "v1", "pis", "Pi")


class PiAdapter(JobAdapter):
    @property
    def resource(self) -> Resource:
        return PIS


class Unfinished:
    resource = PIS

    def read(self, obj: Any) -> Any:
        return None


def failing() -> Any:
    raise LookupError("no schema")


def point(name: str, target: str) -> EntryPoint:
    return EntryPoint(name, target if ":" in target else f"{__name__}:{target}", "jobrelay.workloads")


def test_jobs_are_built_in() -> None:
    assert [adapter.resource for adapter in load_adapters([])] == [JOBS]


def test_every_relay_gets_adapters_of_its_own() -> None:
    assert load_adapters([])[0] is not load_adapters([])[0]


def test_an_entry_point_adds_a_kind() -> None:
    assert [adapter.resource for adapter in load_adapters([point("pi", "PiAdapter")])] == [JOBS, PIS]


@pytest.mark.parametrize(
    ("target", "cause"),
    [
        ("jobrelay.no_such_module:Adapter", "No module named 'jobrelay.no_such_module'"),
        ("failing", "no schema"),
        ("Unfinished", "Unfinished lacks managers, enforces_deadline, demand, mirror, mirror_patch, "),
    ],
)
def test_a_broken_adapter_is_named_and_left_out(target: str, cause: str) -> None:
    with capture_logs() as logs:
        found = load_adapters([point("broken", target), point("pi", "PiAdapter")])
    assert [adapter.resource for adapter in found] == [JOBS, PIS]
    (entry,) = logs
    assert (entry["log_level"], entry["event"].startswith(f"workload adapter broken cannot be used: {cause}")) == (
        "warning", True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("points", "both"),
    [
        ([("job", "JobAdapter")], f"jobs.batch: the built-in one and job ({__name__}:JobAdapter)"),
        (
            [("one", "PiAdapter"), ("two", "PiAdapter")],
            f"pis.example.com: one ({__name__}:PiAdapter) and two ({__name__}:PiAdapter)",
        ),
    ],
)
def test_two_adapters_for_one_kind_are_an_error_that_names_both(points: list[tuple[str, str]], both: str) -> None:
    with pytest.raises(AdapterConflict) as caught:
        load_adapters([point(*each) for each in points])
    assert str(caught.value) == f"two workload adapters are for {both}"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Put a package with this adapter on the path."""
    about = folder / "my_adapter-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-adapter\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[jobrelay.workloads]\nmine = {__name__}:{target}\n")
    monkeypatch.syspath_prepend(folder)


def test_an_installed_package_brings_its_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "PiAdapter")
    assert [adapter.resource for adapter in load_adapters()] == [JOBS, PIS]


def test_the_command_does_not_start_with_two_adapters_for_one_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "JobAdapter")
    with pytest.raises(Failure, match=r"two workload adapters are for jobs\.batch: the built-in one and mine "):
        Tuning().check()
