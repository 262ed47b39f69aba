"""The command: fuzzes targets for some time, and prints what was found with the command that replays it."""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
import tempfile

from .fuzzer import Finding, Fuzzer, Runner, for_seconds
from .target import Target
from .targets import TARGETS


def fuzz(target: Target, seconds: float, seed: int) -> Finding | None:
    """Fuzzes one target, and prints how far it got."""
    with target.opened() as check:
        fuzzer = Fuzzer(target, check, seed)
        found = None
        try:
            fuzzer.replay()
            fuzzer.run(for_seconds(seconds))
        except Finding as finding:
            found = finding
        print(f"{target.name:20} {fuzzer.count:8} inputs  {len(fuzzer.known):6} kept  seed {seed}", flush=True)
        return found


def replay(target: Target, file: pathlib.Path) -> Finding | None:
    with target.opened() as check:
        try:
            Runner(target, check).run(file.read_bytes())
        except Finding as finding:
            return finding
    return None


def report(finding: Finding) -> None:
    """Saves the input, and says how to run it again."""
    file = pathlib.Path(tempfile.mkdtemp(prefix="jobrelay-fuzz-")) / finding.name
    file.write_bytes(finding.data)
    print(f"{finding}\nreplay: python -m tests.fuzz {finding.target} --replay {file}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--replay", type=pathlib.Path, metavar="FILE", help="run this input only")
    given = parser.parse_args()
    if unknown := set(given.targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    chosen = [TARGETS[name] for name in given.targets or TARGETS]
    if given.replay:
        found = [replay(target, given.replay) for target in chosen]
    else:
        found = [fuzz(target, given.seconds / len(chosen), given.seed) for target in chosen]
    for finding in found:
        if finding is not None:
            report(finding)
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
