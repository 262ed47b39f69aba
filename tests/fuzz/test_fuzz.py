"""The corpus, and a short run of each target from a fixed seed; `python -m tests.fuzz` runs them for longer."""

from __future__ import annotations

import pytest

from .fuzzer import Fuzzer, Runner, for_inputs
from .target import CORPUS
from .targets import TARGETS

INPUTS = 25
LENGTH = 1000
PIECES = (b"[", b"{", b"(", b'"', b"a", b"1", b",", b" ", b"\\", b"a: ", b"- ", b"\n", b".", b'{"a":', b"\xff", b"\r\n")


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_the_corpus_is_a_finding(name: str) -> None:
    with TARGETS[name].opened() as check:
        runner = Runner(TARGETS[name], check)
        for data in TARGETS[name].seeds().values():
            runner.run(data)


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_run_finds_nothing(name: str) -> None:
    with TARGETS[name].opened() as check:
        Fuzzer(TARGETS[name], check, seed=1).run(for_inputs(INPUTS))


@pytest.mark.parametrize("name", TARGETS)
def test_work_grows_with_the_input_and_not_faster(name: str) -> None:
    with TARGETS[name].opened() as check:
        runner = Runner(TARGETS[name], check)
        for piece in PIECES:
            count = LENGTH // len(piece)
            runner.compare(piece * count, piece * 2 * count)


def test_every_folder_of_the_corpus_has_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
