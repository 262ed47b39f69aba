"""Many runs: in the order of seeds on any number of processes, and one summary of them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from random import Random

import msgspec
import pytest

from jobrelay.simulation import ApiServerKind, Incident, JobPlan, Schedule, draw, leave_runs, play, run_all
from jobrelay.simulation.loop import SimulatedProcess, VirtualLoop


def square(seed: int) -> tuple[int, int]:
    return seed * seed, os.getpid()


def test_results_come_in_the_order_of_seeds() -> None:
    found = list(run_all(square, range(100, 140), 2))
    assert [result for result, _ in found] == [seed * seed for seed in range(100, 140)]
    assert os.getpid() not in {process for _, process in found}


def test_a_process_ends_after_some_runs() -> None:
    found = list(run_all(square, range(12), 2, runs_each=4))
    assert [result for result, _ in found] == [seed * seed for seed in range(12)]
    assert [len({process for _, process in found[first : first + 4]}) for first in (0, 4, 8)] == [1, 1, 1]
    assert len({process for _, process in found}) == 3


def fail(seed: int) -> int:
    return 10 // (seed - 3)


def test_what_a_run_raises_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        list(run_all(fail, range(5), 2))


def test_a_process_that_ends_without_a_result_is_told() -> None:
    with pytest.raises(RuntimeError, match="a process ended with 7"):
        list(run_all(os._exit, range(7, 8), 2))


def left_alone(seed: int) -> list[str]:
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            cleaned.append("cleaned up")

    loop = VirtualLoop(Random(seed))
    loop.start(SimulatedProcess("a"), work())
    loop.run(asyncio.sleep(1))
    return list(cleaned)


def test_runs_are_wound_up_unless_their_process_leaves_them() -> None:
    assert list(run_all(left_alone, range(2), 1)) == [["cleaned up"]] * 2
    assert list(run_all(left_alone, range(2), 1, runs_each=2, prepare=leave_runs)) == [[]] * 2


def simulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jobrelay", "simulate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_summary_does_not_depend_on_processes() -> None:
    one, two = (simulate("--seeds", "20-31", "--processes", number, "-o", "json") for number in "12")
    assert one.stdout == two.stdout
    assert msgspec.json.decode(one.stdout)["runs"] == 12


@pytest.mark.parametrize("seeds", ["0", "9-3", "few"])
def test_seeds_are_a_number_or_a_range(seeds: str) -> None:
    found = simulate("--seeds", seeds)
    assert found.returncode == 2
    assert "neither a number of seeds nor two of them" in found.stderr


def test_every_tenth_seed_has_the_embedded_server() -> None:
    assert [seed for seed in range(30) if draw(seed).server is ApiServerKind.EMBEDDED] == [0, 10, 20]


@pytest.mark.parametrize("server", ApiServerKind)
def test_a_run_is_the_same_when_it_is_played_again(server: ApiServerKind) -> None:
    crash = Incident(8, "crash", "worker-1/apiserver", 20)
    schedule = Schedule(4, 2, (JobPlan("job-1", at=5, seconds=30, fenced=False),), (crash,), server)
    first, second = play(schedule), play(schedule)
    assert (first.digest, first.steps) == (second.digest, second.steps)


def test_requests_that_a_server_handles_in_a_thread_do_not_change_a_run() -> None:
    flood = Incident(8, "flood", "worker-1", 20)
    schedule = Schedule(4, 2, (JobPlan("job-1", at=5, seconds=30, fenced=False),), (flood,), ApiServerKind.EMBEDDED)
    first, second = play(schedule), play(schedule)
    assert (first.digest, first.steps) == (second.digest, second.steps)


@pytest.mark.parametrize("seed", range(4))
def test_a_schedule_takes_the_same_course_on_both_servers(seed: int) -> None:
    model, embedded = (play(draw(seed, server=server)) for server in (ApiServerKind.MODEL, ApiServerKind.EMBEDDED))
    assert (model.story, model.seconds) == (embedded.story, embedded.seconds)
