"""`jobrelay simulate`: plans and recordings, and that options which do not belong together are refused."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from jobrelay.planning import read_trace
from tests.relay.fleets import MakeFleet

from .command import COMMAND, ENVIRONMENT, ROOT, run
from .fleets import answering_fleet, call

EXAMPLE = ROOT / "examples" / "planning"
PLAN = ("simulate", "--fleet", EXAMPLE / "fleet.yaml", "--trace", EXAMPLE / "jobs.csv")


def test_the_example_compares_policies_in_a_table_and_a_picture(tmp_path: pathlib.Path) -> None:
    result = run(*PLAN, "--policy", "least-loaded", "--policy", "pack", "--svg", tmp_path / "plan.svg")
    assert result.returncode == 0, result.stderr
    head, least, pack, *_ = result.stdout.splitlines()
    assert head.split()[:3] == ["POLICY", "JOBS", "WAIT"]
    assert (least.split()[:2], pack.split()[:2]) == (["least-loaded", "180"], ["pack", "180"])
    assert "research" in result.stdout
    ElementTree.parse(tmp_path / "plan.svg")


def test_plans_are_the_same_each_time_as_json() -> None:
    first, second = (run(*PLAN, "-o", "json", PYTHONHASHSEED=seed) for seed in ("1", "2"))
    (found,) = json.loads(first.stdout)
    assert first.stdout == second.stdout
    assert (found["policy"], found["jobs"], found["unfinished"]) == ("fit,least-loaded,affinity", 180, 0)
    assert found["moves"] > 0
    assert set(found["waits"]) == {"mean", "p50", "p90", "p95", "p99", "max"}


def test_a_synthetic_trace_needs_no_file() -> None:
    result = run("simulate", "--fleet", EXAMPLE / "fleet.yaml", "--synthetic", "jobs=50,seed=1")
    assert (result.returncode, result.stdout.splitlines()[1].split()[1]) == (0, "50")


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("--fleet", "f", "--seeds", "3"), "--seeds and --fleet do not go together", "leave out one"),
        (("--record", "f", "--policy", "pack"), "--policy and --record do not go together", "leave out one"),
        (("--trace", "f"), "a plan needs a fleet", "--fleet fleet.yaml"),
        (("--fleet", "f"), "a plan needs Jobs", "--synthetic"),
        (("--fleet", "f", "--trace", "t", "--synthetic", "jobs=1"), "both say which Jobs there are", "leave out one"),
        (("-o", "table"), "schedules with faults have no output format table", "-o text or -o json"),
        (("--kubeconfig", "f"), "a recording needs a file", "--record"),
        (("--fleet", "gone.yaml", "--synthetic", "jobs=1"), "gone.yaml cannot be read", ""),
        ((*PLAN[1:], "--policy", "spred"), "there is no placement policy 'spred'", "placement.md"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_hint(arguments: tuple[str, ...], error: str, hint: str) -> None:
    result = run("simulate", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert error in result.stderr
    assert not hint or f"hint: {hint}" in result.stderr or hint in result.stderr.partition("hint: ")[2]


def test_help_lists_options_in_sections() -> None:
    shown = run("simulate", "--help").stdout
    assert shown.index("Schedules with faults:") < shown.index("Plans from traces:") < shown.index("Recordings:")


def test_ctrl_c_ends_a_plan_without_a_traceback() -> None:
    arguments = ["simulate", "--fleet", str(EXAMPLE / "fleet.yaml"), "--synthetic", "jobs=100000000"]
    process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert process.stderr is not None
    assert "Jobs" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, "Traceback" in said) == (130, False)


def test_policies_are_completed_after_a_comma() -> None:
    words = {"COMP_WORDS": "jobrelay simulate --policy least-loaded,sp", "COMP_CWORD": "3"}
    shown = run(_JOBRELAY_COMPLETE="bash_complete", **words).stdout
    assert "least-loaded,spread" in shown


async def test_what_a_relay_has_done_is_recorded_as_a_trace(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit()
        await it.finished()
        await it.submit("waiting", annotations={"jobrelay.dev/clusters": "nowhere"})
        result = await call(it, "simulate", "--record", str(tmp_path / "jobs.csv"))
        worker = await it.place()
    assert result.stderr == "recorded 1 Jobs; 1 that have not run to their end are left out\n"
    (job,) = read_trace(tmp_path / "jobs.csv")
    assert (job.name, job.submit, job.shape.namespace) == ("train", 0, "default")
    assert f",{worker}," in (tmp_path / "jobs.csv").read_text()
