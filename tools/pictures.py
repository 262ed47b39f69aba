"""Takes the pictures of the dashboard in docs/pictures: `python tools/pictures.py`.

Needs Chromium on PATH and `pip install playwright`. Starts a fleet with scripted pods, gives it work, opens the
dashboard as a user would, and takes pictures; with --all of each page, in light and dark and in the width of a phone.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

COMMAND: Final = (sys.executable, "-m", "jobrelay")
FOLDER: Final = pathlib.Path(__file__).resolve().parents[1] / "docs" / "pictures"
LOG: Final = "loading shard 0 of 8\nepoch 1  loss 2.31\nepoch 2  loss 1.87\nepoch 3  loss 1.52\n"
WORK: Final = (
    ("research", "tokenize", 4, 3, "1"), ("research", "train-large", 900, 1, "2"),
    ("research", "train-small", 900, 1, "1"),
    ("research", "evaluate", 20, 2, "1"), ("vision", "resize", 3, 4, "500m"), ("vision", "detect", 900, 2, "2"),
    ("vision", "label", 40, 1, "1"), ("nightly", "report", 2, 1, "500m"), ("nightly", "backup", 900, 1, "1"),
    ("vision", "segment", 900, 1, "48"), ("research", "ablation", 900, 2, "3"), ("research", "sweep", 900, 2, "4"),
)  # fmt: skip


PICTURES: Final = (
    ("overview", "/", "light", 1280, 860), ("workload", "/workloads/research/job:train-large", "dark", 1180, 900),
    ("overview-dark", "/", "dark", 1280, 860), ("workloads", "/workloads", "light", 1280, 760),
    ("workload-waits", "/workloads/vision/job:segment", "light", 1280, 900), ("queues", "/queues", "dark", 1280, 700),
    ("workers", "/workers", "light", 1280, 480), ("phone", "/workloads", "light", 390, 844),
    ("phone-overview", "/", "dark", 390, 844),
)  # fmt: skip
DOCUMENTED: Final = 2
"""How many of them are in the docs."""


def job(namespace: str, name: str, seconds: int, pods: int, cpu: str) -> dict[str, Any]:
    """A Job whose pods run for some seconds and say something."""
    annotations = {"jobrelay.dev/run-seconds": str(seconds), "jobrelay.dev/log": LOG}
    if name == "label":
        annotations["jobrelay.dev/exit-code"] = "1"
    container = {"name": "main", "image": "registry.example/train:1", "resources": {"requests": {"cpu": cpu}}}
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace},
        "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template},
    }  # fmt: skip


@contextmanager
def fleet(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """A fleet with three workers; gives the kubeconfig of its management cluster."""
    run(
        "up",
        "-d",
        "--memory",
        "--runtime",
        "scripted",
        "--workers",
        "3",
        "--cpu",
        "8,6,4",
        "--create-namespaces",
        "--dir",
        str(folder),
    )
    try:
        yield folder / "management.kubeconfig"
    finally:
        run("down", "--dir", str(folder))


def run(*arguments: str, given: str = "") -> None:
    subprocess.run([*COMMAND, *arguments], input=given, text=True, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def dashboard(kubeconfig: pathlib.Path) -> Iterator[str]:
    """`jobrelay dashboard`; gives its URL."""
    command = [*COMMAND, "dashboard", "--no-browser", "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def submit(kubeconfig: pathlib.Path) -> None:
    names = sorted({namespace for namespace, *_ in WORK})
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]
    create_namespaces(kubeconfig, spaces)
    documents = "\n---\n".join(json.dumps(job(*each)) for each in WORK)
    run("submit", "-", "--kubeconfig", str(kubeconfig), given=documents)


def create_namespaces(kubeconfig: pathlib.Path, spaces: list[dict[str, Any]]) -> None:
    import asyncio

    from jobrelay.kube import connect
    from jobrelay.kube.resource import NAMESPACES

    async def create() -> None:
        async with connect(kubeconfig) as client:
            for each in spaces:
                await client.create(NAMESPACES, each)

    asyncio.run(create())


def take(url: str, folder: pathlib.Path, *, everything: bool) -> None:
    """The pictures of the docs, or of all pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for name, path, scheme, width, height in PICTURES if everything else PICTURES[:DOCUMENTED]:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(url)
            page.goto(url.partition("/?")[0] + path)
            page.wait_for_selector('#link[data-state="on"]')
            page.wait_for_timeout(1500)
            page.screenshot(path=folder / f"dashboard-{name}.png")
            page.close()
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--all", action="store_true", help="also of pages that are not in the docs")
    parser.add_argument("--seconds", type=float, default=75.0, help="how long the fleet works before the pictures")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, fleet(pathlib.Path(scratch) / "fleet") as kubeconfig:
        submit(kubeconfig)
        time.sleep(chosen.seconds)
        with dashboard(kubeconfig) as url:
            take(url, chosen.folder, everything=chosen.all)


if __name__ == "__main__":
    main()
