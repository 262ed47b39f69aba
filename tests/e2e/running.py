"""Runs compiled specs on a cluster and tells how each ended."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
from collections.abc import Iterable
from typing import Any, Final

from .building import Programs

RUN_SECONDS: Final = 14 * 60
GRACE_SECONDS: Final = 60
# Specs mostly wait, two of them for more than five minutes, so many run at a time on a small machine.
PROCESSES: Final = 12


def run(
    programs: Programs, kubeconfig: pathlib.Path, focus: str, skip: str, folder: pathlib.Path
) -> tuple[str, Iterable[Any]]:
    """What Ginkgo printed, and its reports on the specs in focus that are not skipped."""
    line = [
        programs.ginkgo, "run", f"--procs={PROCESSES}", f"--focus={focus}", f"--skip={skip}",
        f"--timeout={RUN_SECONDS}s", "--no-color",
        f"--output-dir={folder}", "--json-report=report.json", programs.specs, "--", f"--kubeconfig={kubeconfig}",
        "--provider=skeleton",
    ]  # fmt: skip
    with (folder / "output.txt").open("w+") as output:
        process = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, cwd=folder, process_group=0)
        try:
            process.wait(RUN_SECONDS + GRACE_SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        report = folder / "report.json"
        return output.read(), _specs(report) if report.exists() else ()


def name(spec: dict[str, Any]) -> str:
    return " ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]])


def why(spec: dict[str, Any]) -> str:
    failure = spec.get("Failure") or {}
    place = failure.get("Location") or {}
    return f"{failure.get('Message', '')}\n{place.get('FileName', '')}:{place.get('LineNumber', 0)}"


def _specs(report: pathlib.Path) -> list[Any]:
    """Those that ran, and those that skipped themselves; not those out of focus."""
    found = [one for suite in json.loads(report.read_text()) for one in suite["SpecReports"]]
    return [one for one in found if one["LeafNodeType"] == "It" and (one["State"] != "skipped" or one.get("Failure"))]
