"""Plays scripts to a real control plane and to an embedded cluster at the same time, and shows where they differ.

python -m tests.oracle.job_scripts.compare --real https://127.0.0.1:26000/TOKEN --only backoff -v

Both play a step together, are given time to settle, and are looked at. Pictures that differ are taken again for some
seconds: what is compared is where things end up, not how fast. The embedded cluster is `jobrelay cluster start`, a
process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import os
import pathlib
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import yaml

import jobrelay
from jobrelay.kube import Client, connect

from .invented import invent
from .picture import lines
from .player import Player, prepare_node

FOLDER = pathlib.Path(__file__).parent
Obj = dict[str, Any]
SETTLE, PATIENCE, AGAIN = 3.0, 8.0, 1.0
"""Seconds after a step, seconds more if pictures differ, and seconds between pictures."""
LONG = 60.0
"""Scripts that take longer mostly wait, and are played beside the others."""


@dataclass(slots=True)
class Outcome:
    """How many steps there were, and the lines that show those that differ."""

    steps: int = 0
    different: int = 0
    lines: list[str] = field(default_factory=list)


def scripts(only: str = "") -> dict[str, list[Obj]]:
    """All scripts by name: `file/script`."""
    found = {
        f"{path.stem}/{name}": steps
        for path in sorted(FOLDER.glob("*.yaml"))
        for name, steps in yaml.safe_load(path.read_text()).items()
        if not name.startswith(".")
    }
    parts = [part for part in only.split(",") if part]
    return {name: steps for name, steps in found.items() if not parts or any(part in name for part in parts)}


def differences(title: str, real: Obj, ours: Obj) -> list[str]:
    shown = difflib.unified_diff(list(lines(real)), list(lines(ours)), "real", "ours", lineterm="", n=0)
    return [title, *(line for line in shown if not line.startswith("@@"))]


async def play(
    real: Client, ours: Client, name: str, steps: list[Obj], player: Callable[[Client, str], Player] = Player
) -> Outcome:
    namespace = "jobscript-" + name.replace("/", "-").replace(" ", "-").lower()[:40] + "-" + secrets.token_hex(3)
    pair = (player(real, namespace), player(ours, namespace))
    outcome = Outcome(len(steps))
    await asyncio.gather(*(each.prepare() for each in pair))
    try:
        for number, step in enumerate(steps):
            await asyncio.gather(*(each.play(step) for each in pair))
            await asyncio.sleep(SETTLE if step.keys() - {"wait"} else 0)
            theirs, mine = await _looked(pair)
            if theirs != mine:
                outcome.different += 1
                outcome.lines += differences(f"== {name} after step {number}: {json.dumps(step)}", theirs, mine)
    except Exception as error:
        outcome.different, outcome.lines = len(steps), [*outcome.lines, f"== {name} broke off: {error!r:.500}"]
    finally:
        await asyncio.gather(*(each.clean_up() for each in pair))
    return outcome


async def _looked(pair: tuple[Player, Player]) -> tuple[Obj, Obj]:
    """Pictures that are the same, or do not become the same."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE
    while True:
        theirs, mine = await asyncio.gather(*(each.look() for each in pair))
        if theirs == mine or loop.time() > end:
            return theirs, mine
        await asyncio.sleep(AGAIN)


async def compare(address: str, chosen: dict[str, list[Obj]], at_once: int = 40) -> dict[str, Outcome]:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        async with (
            embedded(path) as kubeconfig,
            connect(_kubeconfig(address, path)) as real,
            connect(kubeconfig) as ours,
        ):
            await asyncio.gather(prepare_node(real), prepare_node(ours))
            gate = asyncio.Semaphore(at_once)

            async def one(name: str) -> Outcome:
                async with nullcontext() if _seconds(chosen[name]) > LONG else gate:
                    outcome = await play(real, ours, name, chosen[name])
                    print("differs" if outcome.different else "same   ", name, flush=True)
                    return outcome

            longest_first = sorted(chosen, key=lambda name: -_seconds(chosen[name]))
            return dict(zip(longest_first, await asyncio.gather(*map(one, longest_first)), strict=True))


def _seconds(steps: list[Obj]) -> float:
    """About how long a script takes."""
    return sum(float(step.get("wait", SETTLE)) + 60 * ("until_second" in step) for step in steps)


@asynccontextmanager
async def embedded(folder: pathlib.Path) -> AsyncIterator[str]:
    """An embedded cluster as a user starts it, without a runtime; yields its kubeconfig."""
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(jobrelay.__file__).parents[1])}
    with (folder / "cluster.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "jobrelay", "cluster", "start", "scripts", "--memory", "--runtime", "none",
            "--dir", str(folder), stdout=asyncio.subprocess.PIPE, stderr=log, env=environment,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        ready = (await process.stdout.readline()).decode().split()
        assert ready[1:2] == ["ready"], (folder / "cluster.log").read_text()
        yield ready[3]
    finally:
        process.terminate()
        await process.wait()


def _kubeconfig(address: str, folder: pathlib.Path) -> str:
    if not address.startswith("https://"):
        return address
    url, _, token = address.rpartition("/")
    path = folder / "real.kubeconfig"
    cluster, user = {"server": url, "insecure-skip-tls-verify": True}, {"token": token}
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "a", "clusters": [{"name": "a", "cluster": cluster}],
        "users": [{"name": "a", "user": user}], "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    }  # fmt: skip
    path.write_text(yaml.safe_dump(config))
    return str(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", default=os.environ.get("JOBRELAY_ORACLE", ""))
    parser.add_argument("--only", default="")
    parser.add_argument("--at-once", type=int, default=40)
    parser.add_argument("--invent", type=int, metavar="COUNT", help="play scripts that are made up instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    chosen = scripts(options.only) if options.invent is None else invent(options.seed, options.invent)
    if options.invent is not None and options.only:
        chosen = {name: steps for name, steps in chosen.items() if name.endswith(tuple(options.only.split(",")))}
    found = asyncio.run(compare(options.real, chosen, options.at_once))
    if options.v:
        print("\n".join(line for outcome in found.values() for line in outcome.lines))
    different = sum(bool(outcome.different) for outcome in found.values())
    steps, wrong = sum(one.steps for one in found.values()), sum(one.different for one in found.values())
    print(f"{len(found) - different} of {len(found)} scripts the same, {steps - wrong} of {steps} steps")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
