"""The command: fuzzes targets for some time, and prints what was found with the command that replays it."""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
import tempfile
from collections.abc import Callable

from .fuzzer import Finding, Fuzzer, Runner, for_inputs, for_seconds
from .target import Target
from .targets import TARGETS


def fuzz(target: Target, going_on: Callable[[], bool], seed: int) -> bool:
    """Fuzzes one target, and prints how far it got; whether nothing was found."""
    with target.opened() as check:
        fuzzer = Fuzzer(target, check, seed)
        good = _told(lambda: (fuzzer.replay(), fuzzer.run(going_on)))
        print(f"{target.name:20} {fuzzer.count:8} inputs  {len(fuzzer.known):6} kept  seed {seed}", flush=True)
        return good


def replay(target: Target, file: pathlib.Path) -> bool:
    with target.opened() as check:
        return _told(lambda: Runner(target, check).run(file.read_bytes()))


def _told(work: Callable[[], object]) -> bool:
    """Whether some work has no finding; if it has one, that is reported."""
    try:
        work()
    except Finding as finding:
        report(finding)
        return False
    return True


def report(finding: Finding) -> None:
    """Saves the input, and says how to run it again."""
    file = pathlib.Path(tempfile.mkdtemp(prefix="jobrelay-fuzz-")) / finding.name
    file.write_bytes(finding.data)
    print(f"{finding}\nreplay: python -m tests.fuzz {finding.target} --replay {file}", file=sys.stderr, flush=True)


def _limit(given: argparse.Namespace, targets: int) -> Callable[[], bool]:
    """How long one of the targets is fuzzed."""
    return for_inputs(given.inputs) if given.inputs else for_seconds(given.seconds / targets)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--inputs", type=int, metavar="NUMBER", help="for each target, instead of --seconds")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--replay", type=pathlib.Path, metavar="FILE", help="run this input only")
    given = parser.parse_args()
    if unknown := set(given.targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    chosen = [TARGETS[name] for name in given.targets or TARGETS]
    if given.replay:
        good = [replay(target, given.replay) for target in chosen]
    else:
        good = [fuzz(target, _limit(given, len(chosen)), given.seed) for target in chosen]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
