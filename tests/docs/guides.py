"""The commands of a guide, as one script that is run from the top of the page to its end.

Every block of shell commands in a guide is run, unless a comment in front of it gives a reason. Readers do not see the
comments:

    <!-- not run: needs a cloud -->              the next block is not run
    <!-- until Ctrl-C: fleet ready -->           the next block is run in the background; go on when it has printed this
    <!-- file: train.yaml -->                    the next block is the content of a file
    <!-- before: kubectl create namespace a -->  commands that the reader has run already, over several lines too

The script runs in a folder of its own, which is also $HOME, with `examples` and `deploy` of the repository in it.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tests.cli.command import ENVIRONMENT, ROOT

SHELL = ("sh", "console")
PART = re.compile(
    r"^[ ]*<!-- (?P<directive>not run|until Ctrl-C|file|before): (?P<value>.*?) -->$"
    r"|^(?P<indent>[ ]*)```(?P<language>\w*)\n(?P<text>.*?)^[ ]*```$",
    re.DOTALL | re.MULTILINE,
)
PRELUDE = r"""
set -euo pipefail
await() {  # TEXT FILE PID: until the file has the text
  for _ in $(seq 900); do
    if grep -q -- "$1" "$2"; then return; fi
    if ! kill -0 "$3" 2>/dev/null; then cat "$2" >&2; echo "it has ended without '$1'" >&2; return 1; fi
    sleep 0.2
  done
  cat "$2" >&2; echo "it has not said '$1'" >&2; return 1
}
"""
TIMEOUT = 300


@dataclass(frozen=True, slots=True)
class Step:
    """A block of a page. `directive` is `run`, or that of the comment in front of it."""

    line: int
    directive: str
    value: str
    text: str


def steps(page: str) -> Iterator[Step]:
    """The parts of a page that matter to its script, in their order."""
    pending: tuple[str, str] | None = None
    for match in PART.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        if match["directive"] == "before":
            yield Step(line, "before", "", match["value"])
        elif match["directive"]:
            pending = (match["directive"], match["value"])
        else:
            directive, value = pending or ("run", "")
            pending = None
            if match["language"] in SHELL or directive == "file":
                yield Step(line, directive, value, _plain(match["language"], match["text"], match["indent"]))


def _plain(language: str, text: str, indent: str) -> str:
    """The commands of a block; of a `console` block those after the prompt."""
    lines = [line.removeprefix(indent) for line in text.splitlines()]
    if language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return "".join(f"{line}\n" for line in lines)


def script(found: list[Step]) -> str:
    """One script for bash; each step says its line before it runs."""
    return PRELUDE + "".join(f"echo '=== line {step.line}' >&2\n{_commands(step)}" for step in found)


def _commands(step: Step) -> str:
    if step.directive == "not run":
        return ""
    if step.directive == "file":
        return f"cat > {shlex.quote(step.value)} <<'END OF FILE'\n{step.text}END OF FILE\n"
    if step.directive == "until Ctrl-C":
        output = f"background-{step.line}"
        began = f"{{ {step.text}}} > {output} 2>&1 &\n"
        return f"{began}await {shlex.quote(step.value)} {output} $!\n"
    return f"set -x\n{step.text.rstrip()}\n{{ set +x; }} 2>/dev/null\n"


def run_guide(text: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Runs the script of a page to its end, and ends everything that it has started."""
    for name in ("examples", "deploy"):
        (folder / name).symlink_to(ROOT / name)
    programs = folder / "programs"
    programs.mkdir()
    for name, command in {"jobrelay": "-m jobrelay", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command} "$@"\n')
        (programs / name).chmod(0o755)
    variables = ENVIRONMENT | {"HOME": str(folder), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for name in ("KUBECONFIG", "JOBRELAY_DIR", "XDG_STATE_HOME"):
        variables.pop(name, None)
    path = folder / "script"
    path.write_text(script(list(steps(text))))
    output = folder / "script.log"
    with output.open("wb") as log:
        process = subprocess.Popen(
            ["bash", str(path)],
            cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            code = 124
        finally:
            _end(process, folder, variables)
    return subprocess.CompletedProcess(process.args, code, output.read_text(errors="replace"))


def _end(process: subprocess.Popen[bytes], folder: pathlib.Path, variables: dict[str, str]) -> None:
    """Ends the script's own group, then the fleets and clusters that it has left in the background."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait(60)
    for lock in folder.rglob("fleet.lock"):
        _quietly(["down", "--dir", str(lock.parent)], folder, variables)
    for kept in {path.parent for path in folder.rglob("*.kubeconfig") if (path.parent / path.stem).is_dir()}:
        _quietly(["cluster", "stop", "--all", "--dir", str(kept)], folder, variables)


def _quietly(arguments: list[str], folder: pathlib.Path, variables: dict[str, str]) -> None:
    command = [sys.executable, "-m", "jobrelay", *arguments]
    subprocess.run(command, cwd=folder, env=variables, capture_output=True, timeout=120, check=False)
