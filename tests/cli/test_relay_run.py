"""`jobrelay relay run`: what it refuses to begin with, what it says when it is ready, and how it ends."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from jobrelay.cli import root
from jobrelay.cli.relay.run import run
from jobrelay.cli.relay.tuning import Tuning
from jobrelay.relay.settings import Settings
from jobrelay.relay.worker_view import ResourceUsage, WorkerView

from .command import COMMAND, ENVIRONMENT, end, ready, started


def refused(*arguments: str) -> str:
    """What the command says before it does anything."""
    result = CliRunner().invoke(root, ["relay", "run", *arguments])
    assert result.exit_code == 2
    return result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("15", "'15' is not a duration; write 90s, 15m or 1h30m, for example."),
        ("soon", "'soon' is not a duration"),
        ("-5s", "'-5s' is negative."),
        ("5d", "'5d' is not a duration"),
    ],
)
def test_durations_are_written_as_kubernetes_does(text: str, told: str) -> None:
    assert told in refused(f"--worker-lost-timeout={text}")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--worker", "a"], "error: --worker 'a' is not NAME=KUBECONFIG"),
        (["--worker", "A=x"], "'A' cannot be the name of a worker"),
        (["--worker", "a=x", "--worker", "a=y"], "error: --worker 'a' is given twice"),
        (["--worker", "a=x", "--workers-from", "objects"], "--worker cannot be combined with --workers-from objects"),
        (["--workers-from", "flags", "--config", "x"], "--config and --allow-exec need workers that are objects"),
        (["--listen", "8080"], "error: --listen 8080: not ADDR:PORT"),
        (["--kind-file", "/nix/there.yaml"], "error: --kind-file /nix/there.yaml: No such file or directory"),
        (["--kind-file", __file__], f"error: --kind-file {__file__}: not a description of a kind"),
        (["--placement", "least-laoded"], "did you mean least-loaded?"),
        (["--copy", "Secret"], "--copy: Secrets are copied only from namespaces that are named"),
        (["--copy", "Everything"], "--copy: 'Everything' cannot be copied; these can: ConfigMap, Secret"),
        (["--kubeconfig", "/nix/there"], "error: there is no kubeconfig at /nix/there"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], told: str) -> None:
    assert told in refused(*arguments)


def test_tuning_is_passed_on_in_the_words_of_the_command() -> None:
    kind_file = next((pathlib.Path(__file__).parents[2] / "examples" / "kinds").glob("*.yaml"))
    tuning = Tuning(90.0, 0.5, "cost", True, 60.0, True, (kind_file,), ("ConfigMap", "Secret:a,b"))
    result = CliRunner().invoke(root, ["relay", "run", *tuning.arguments(), "--kubeconfig", "/nix/there"])
    assert "there is no kubeconfig at /nix/there" in result.stderr


def test_the_defaults_of_options_are_those_of_the_relay() -> None:
    chosen, relay = Tuning(), Settings("x")
    assert (chosen.worker_lost_timeout, chosen.keep_finished) == (relay.lost_timeout, relay.keep_finished)
    assert (chosen.fencing, chosen.fence_lease) == (relay.fencing, relay.lease)
    with run.make_context("run", ["--kubeconfig", "x"], resilient_parsing=False) as context:
        given = {name: context.params[name] for name in Tuning.__dataclass_fields__}
    assert Tuning(**given) == chosen


def test_a_worker_is_a_row() -> None:
    from jobrelay.cli.worker_rows import worker_row

    gib = 2.0**30
    view = WorkerView(
        "a", True, "draining", 3, nodes=2, cpu=ResourceUsage(8.0, 2.5), memory=ResourceUsage(16 * gib, gib / 2)
    )
    row = worker_row(view)
    assert (row["state"], row["cpu"], row["memory"], row["reason"]) == ("connected,draining", "2.5/8", "512Mi/16Gi", "")
    lost = worker_row(WorkerView("b", False, "open", 0, reason="it is gone", stale_mirrors=2))
    assert (lost["state"], lost["cpu"], lost["reason"]) == (
        "unreachable",
        "?",
        "it is gone; 2 stale mirrors to stop first",
    )


@contextmanager
def relay(folder: pathlib.Path, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A relay as a process, for the cluster `m` with the worker `w`."""
    where = ["--kubeconfig", folder / "m.kubeconfig", "--worker", f"w={folder / 'w.kubeconfig'}"]
    command = [*COMMAND, "relay", "run", *map(str, [*where, *arguments])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_replicas_say_who_leads_and_end_cleanly(tmp_path: pathlib.Path) -> None:
    with started("m", "w", "--memory", "--runtime", "scripted", "--dir", tmp_path) as clusters:
        ready(clusters), ready(clusters)
        with relay(tmp_path, "-o", "json") as first:
            said = json.loads(" ".join(ready(first)))
            assert (said["ready"], said["leads"]) == (True, True)
            assert [(each["name"], each["connected"]) for each in said["workers"]] == [("w", True)]
            with relay(tmp_path) as second:
                words = ready(second)
                assert words[:2] == ("relay", "ready")
                assert words[3:] == ("(standing", "by:", said["leader"], "leads)")
                assert ready(second) == ("NAME", "STATE", "JOBS", "REASON")
                assert ready(second) == ("w", "connected", "0")
                assert end(second, signal.SIGINT) == 0
            assert end(first, signal.SIGTERM) == 0
