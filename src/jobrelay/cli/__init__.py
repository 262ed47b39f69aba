"""The `jobrelay` command.

Data goes to stdout, everything else to stderr. A command that fails prints `error:` and usually `hint:`, and exits with
code 2. Each command's module is imported only when the command is called, so `jobrelay --help` stays fast.
"""

from __future__ import annotations

import gc
import os
from typing import Final

import click

from jobrelay import __version__
from jobrelay.cli.colours import colours_wanted
from jobrelay.cli.lazy import LazyGroup

__all__ = ["main"]

_GC_THRESHOLDS: Final = (50_000, 20, 100)
"""With the defaults the collector visits all objects many times while modules are imported, and frees nothing."""


@click.group(
    cls=LazyGroup,
    commands_at={
        "up": ("jobrelay.cli.up:up", "Run a local fleet: a management cluster, workers and the relay."),
        "down": ("jobrelay.cli.up:down", "Stop a fleet that runs in the background."),
        "demo": ("jobrelay.cli.demo:demo", "Show a fleet at work: Jobs on three workers, one of which is killed."),
        "submit": ("jobrelay.cli.submit:submit", "Create workloads that the relay runs."),
        "get": ("jobrelay.cli.get:get", "List delegated Jobs and workers."),
        "top": ("jobrelay.cli.top:top", "Watch workers and workloads, and look into them."),
        "explain": ("jobrelay.cli.explain:explain", "Explain why a delegated Job is where it is."),
        "logs": ("jobrelay.cli.logs:logs", "Print the logs of a delegated Job from its worker."),
        "exec": ("jobrelay.cli.exec:exec_", "Run a command in a pod of a delegated workload."),
        "wait": ("jobrelay.cli.wait:wait", "Wait for the end of delegated workloads."),
        "cancel": ("jobrelay.cli.cancel:cancel", "Delete delegated workloads, wherever they run."),
        "rerun": ("jobrelay.cli.rerun:rerun", "Create a workload again from one that has ended."),
        "describe": ("jobrelay.cli.describe:describe", "Show what became of a delegated workload, with durations."),
        "events": ("jobrelay.cli.events:events", "List the events of delegated workloads."),
        "dashboard": ("jobrelay.cli.dashboard:dashboard", "Show workloads, workers and logs in the browser."),
        "queue": ("jobrelay.cli.queue:queue", "List, hold and resume queues."),
        "worker": ("jobrelay.cli.worker:worker", "Register, join, check, cordon and drain workers."),
        "relay": ("jobrelay.cli.relay:relay", "Run the relay."),
        "install": ("jobrelay.cli.install:install", "Print or apply the manifests that the relay needs."),
        "cluster": ("jobrelay.cli.cluster:cluster", "Start and stop embedded Kubernetes clusters."),
        "envtest": ("jobrelay.cli.envtest:envtest", "Run a test suite of controller-runtime on an embedded cluster."),
        "simulate": ("jobrelay.cli.simulate:simulate", "Run a fleet on virtual time: with faults, or for a plan."),
        "lint": ("jobrelay.cli.lint:lint", "Say what would be refused about Jobs and their statuses."),
        "conformance": ("jobrelay.cli.conformance:conformance", "Judge Job controllers by the Jobs that they run."),
        "completion": ("jobrelay.cli.completion:completion", "Print the completion script for a shell."),
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", message="%(prog)s %(version)s")
@click.option(
    "--color", "when", type=click.Choice(("auto", "always", "never")), default="auto", show_default=True,
    help="When to colour states; auto: on a terminal, unless NO_COLOR is set.",
)  # fmt: skip
@click.pass_context
def root(ctx: click.Context, when: str) -> None:
    """Kubernetes batch work across many clusters, with embedded clusters for laptops and tests."""
    ctx.color = colours_wanted(when, os.environ)


def main() -> None:
    """The entry point."""
    gc.set_threshold(*_GC_THRESHOLDS)
    root(prog_name="jobrelay")
