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
from jobrelay.workloads import Adapter, AdapterConflict, JobAdapter, load_adapters
from jobrelay.workloads.builtin import built_in_adapters
from jobrelay.workloads.declared import decode_description
from jobrelay.workloads.kind_files import GivenKind, read_config_maps
from jobrelay.workloads.registry import usable_kinds

from .declared_kinds import as_object

PIS = Resource("example.com", "v1", "pis", "Pi")


DESCRIBED = """\
apiVersion: jobrelay.dev/v1alpha1
kind: WorkloadKind
resource: {group: example.com, version: v1, plural: PLURAL, kind: Pi}
status: {succeeded: {condition: Done}}
"""


def described(source: str, plural: str = "pis", group: str = "example.com") -> GivenKind:
    text = DESCRIBED.replace("PLURAL", plural).replace("example.com", group)
    return GivenKind(source, decode_description(text, source))


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


def brought(adapters: tuple[Adapter, ...]) -> list[Resource]:
    """The kinds that are not built in, and Jobs, which are the last of all."""
    built_in = {each.resource for each in built_in_adapters()} - {JOBS}
    return [adapter.resource for adapter in adapters if adapter.resource not in built_in]


def test_jobs_are_built_in() -> None:
    assert brought(load_adapters([])) == [JOBS]


def test_all_kinds_that_are_built_in_are_loaded() -> None:
    kinds = [adapter.resource.kind for adapter in load_adapters([])]
    assert (len(kinds), kinds[-1]) == (15, "Job")


def test_a_description_replaces_a_built_in_kind() -> None:
    given = described("mine.yaml", "jobsets", "jobset.x-k8s.io")
    found = [adapter for adapter in load_adapters([], [given]) if adapter.resource.plural == "jobsets"]
    assert [adapter.resource.kind for adapter in found] == ["Pi"]


def test_every_relay_gets_adapters_of_its_own() -> None:
    assert load_adapters([])[0] is not load_adapters([])[0]


def test_an_entry_point_adds_a_kind() -> None:
    assert brought(load_adapters([point("pi", "PiAdapter")])) == [PIS, JOBS]


@pytest.mark.parametrize(
    ("target", "cause"),
    [
        ("jobrelay.no_such_module:Adapter", "No module named 'jobrelay.no_such_module'"),
        ("failing", "no schema"),
        ("Unfinished", "Unfinished lacks managed_by_path, managers, native, runs_anyway, enforces_deadline, "),
    ],
)
def test_a_broken_adapter_is_named_and_left_out(target: str, cause: str) -> None:
    with capture_logs() as logs:
        found = load_adapters([point("broken", target), point("pi", "PiAdapter")])
    assert brought(found) == [PIS, JOBS]
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
    assert brought(load_adapters()) == [PIS, JOBS]


def test_the_command_does_not_start_with_two_adapters_for_one_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "JobAdapter")
    with pytest.raises(Failure, match=r"two workload adapters are for jobs\.batch: the built-in one and mine "):
        Tuning().check()


def test_a_description_adds_a_kind() -> None:
    assert brought(load_adapters([], [described("pi.yaml")])) == [PIS, JOBS]


@pytest.mark.parametrize(
    ("given", "both"),
    [
        ([described("a.yaml"), described("b.yaml")], "pis.example.com: a.yaml and b.yaml"),
        ([described("a.yaml", "jobs", "batch")], "jobs.batch: the built-in one and a.yaml"),
    ],
)
def test_two_descriptions_of_one_kind_are_an_error_that_names_both(given: list[GivenKind], both: str) -> None:
    with pytest.raises(AdapterConflict) as caught:
        load_adapters([], given)
    assert str(caught.value) == f"two workload adapters are for {both}"


def test_a_package_and_a_description_of_one_kind_exclude_each_other() -> None:
    with pytest.raises(AdapterConflict, match=r"pis\.example\.com: pi\.yaml and pi \("):
        load_adapters([point("pi", "PiAdapter")], [described("pi.yaml")])


def test_kinds_that_would_exclude_each_other_are_left_out_by_name() -> None:
    first, more = [described("a.yaml")], [described("b.yaml"), described("c.yaml", "others")]
    taken, problems = usable_kinds(first, more)
    assert [each.source for each in taken] == ["a.yaml", "c.yaml"]
    assert [each.message for each in problems] == ["two workload adapters are for pis.example.com: a.yaml and b.yaml"]


def test_config_maps_give_what_can_be_used_and_say_what_cannot() -> None:
    good, bad = DESCRIBED.replace("PLURAL", "pis"), "kind: WorkloadKind"
    maps = [
        as_object({"metadata": {"name": "b", "namespace": "n"}, "data": {"pi.yaml": good, "x.yaml": bad}}),
        as_object({"metadata": {"name": "a", "namespace": "n"}, "data": None}),
        as_object({"metadata": {"name": "c", "namespace": "n"}, "data": {"x": 5}}),
    ]
    found = read_config_maps(maps)
    assert [each.source for each in found.kinds] == ["ConfigMap n/b, pi.yaml"]
    assert found.problems[0] == (("n", "b"), "ConfigMap n/b, x.yaml: missing field `apiVersion`")
    assert found.problems[1].message.startswith("ConfigMap n/c is not what was expected")
