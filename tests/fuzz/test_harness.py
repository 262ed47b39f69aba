"""The harness itself: what it reports, and that the same seed gives the same inputs."""

from __future__ import annotations

import random

import pytest

from jobrelay.apimachinery import gojson

from .fuzzer import Finding, Fuzzer, Runner, for_inputs
from .mutation import Mutator
from .target import Target, plain
from .targets import TARGETS


def test_an_error_that_is_not_documented_is_a_finding() -> None:
    target = Target("json", plain(lambda data: data[9]), (gojson.JsonError,))
    with target.opened() as check, pytest.raises(Finding, match="IndexError"):
        Runner(target, check).run(b"short")


def test_an_input_that_takes_a_new_branch_is_told() -> None:
    target = Target("json", plain(gojson.loads), (gojson.JsonError,))
    runner = Runner(target, gojson.loads)
    assert [runner.run(b"{}"), runner.run(b"{}"), runner.run(b"{x")] == [True, False, True]


def test_work_without_end_is_a_finding() -> None:
    target = Target("json", plain(gojson.syntax_error), (gojson.JsonError,), per_byte=0, at_least=100)
    with pytest.raises(Finding, match="more than 100 lines"):
        Runner(target, gojson.syntax_error).run(b"[" * 1000)


def test_work_that_grows_faster_than_the_input_is_a_finding() -> None:
    def quadratic(data: bytes) -> None:
        for _ in range(len(data) // 50):
            gojson.syntax_error(data)

    target = Target("json", plain(quadratic))
    with pytest.raises(Finding, match="500 bytes took"):
        Runner(target, quadratic).compare(b"[" * 500, b"[" * 1000)


def test_the_work_of_an_input_is_not_that_of_making_the_server_anew() -> None:
    target = TARGETS["request"]
    change = b'POST /api/v1/namespaces/default/configmaps\nContent-Type: application/json\n\n{"metadata":{"name":"b"}}'
    with target.opened() as check:
        runner = Runner(target, check)
        runner.run(b"GET /version\n\n")
        runner.compare(change, b"GET /version\n\n")


def test_the_same_seed_gives_the_same_inputs() -> None:
    def inputs() -> list[bytes]:
        seen: list[bytes] = []
        Fuzzer(TARGETS["label-selector"], seen.append, seed=7).run(for_inputs(50))
        return seen

    assert inputs() == inputs()


def test_mutations_change_inputs() -> None:
    mutator = Mutator(random.Random(1), [b"word"])
    made = {mutator.mutated(b'{"a": 1}', b"[other]") for _ in range(50)}
    assert len(made) > 40
