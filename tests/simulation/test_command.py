"""`jobrelay simulate`: what it lists, and how a story is replayed."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from jobrelay.cli.simulate import simulate
from jobrelay.simulation import INCIDENTS, Outcome, Schedule


@pytest.fixture(autouse=True)
def this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs in this process: it neither starts another one, nor silences the loggers of other tests."""
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    monkeypatch.setattr("jobrelay.cli.logging_setup.configure_logging", lambda level, output: None)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(simulate, arguments)


def test_incidents_are_listed() -> None:
    lines = run("--incidents").stdout.splitlines()
    names = [line.split()[0] for line in lines]
    assert names == list(INCIDENTS)


def test_a_story_ends_with_the_command_that_replays_it(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[Schedule] = []

    def breaks(schedule: Schedule) -> Outcome:
        played.append(schedule)
        return Outcome(broken=["one-run: x"] if any(each.kind == "drain" for each in schedule.incidents) else [])

    monkeypatch.setattr("jobrelay.simulation.play", breaks)
    monkeypatch.setattr("jobrelay.simulation.shrinking.play", breaks)
    seed = next(seed for seed in range(50) if _drains(seed))
    told = run("--seeds", f"{seed}-{seed}", "--incident", "drain", "--incident", "cut")
    assert told.exit_code == 1
    shortest = played[-1]
    command = next(line for line in told.stdout.splitlines() if line.startswith("replay: jobrelay simulate "))
    again = run(*command.removeprefix("replay: jobrelay simulate ").split())
    assert again.exit_code == 1
    assert [each.kind for each in played[-1].incidents] == ["drain"]
    assert len(played[-1].jobs) == 1
    assert shortest.seed == played[-1].seed == seed


def _drains(seed: int) -> bool:
    from jobrelay.simulation import draw

    kinds = [each.kind for each in draw(seed, ("drain", "cut")).incidents]
    return kinds.count("drain") == 1 and len(kinds) > 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--part", "1/1"), "--part is a part of the schedule of one --seed."),
        (("--seed", "1", "--part", "99"), "'99' is not among the numbers"),
        (("--incident", "meteorite"), "'meteorite' is none of"),
    ],
)
def test_wrong_options(arguments: tuple[str, ...], text: str) -> None:
    found = run(*arguments)
    assert (found.exit_code, text in found.output) == (2, True), found.output
