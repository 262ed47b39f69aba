"""The options of the relay's behaviour, shared by `relay run` and `up`."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.kinds import KIND_FILES, conflicts, given_kinds
from jobrelay.cli.options import duration_seconds, option_group, size_bytes
from jobrelay.relay.copy_rules import COPYABLE, CopyRuleError, CopyRules, parse_rules
from jobrelay.relay.settings import FENCE_LEASE, KEEP_FINISHED, KEEP_LOGS_FOR, KEEP_LOGS_TOTAL, LOST_TIMEOUT

if TYPE_CHECKING:
    from jobrelay.workloads.kind_files import GivenKind

__all__ = ["Tuning", "tuning_options"]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The relay's behaviour; all durations are in seconds."""

    worker_lost_timeout: float = LOST_TIMEOUT
    keep_finished: float = KEEP_FINISHED
    placement: str = ""
    fencing: bool = False
    fence_lease: float = FENCE_LEASE
    create_namespaces: bool = False
    kind_files: tuple[pathlib.Path, ...] = ()
    copy: tuple[str, ...] = ()
    keep_logs: int = 0
    keep_logs_total: int = KEEP_LOGS_TOTAL
    keep_logs_for: float = KEEP_LOGS_FOR
    queueing: Literal["auto", "on", "off"] = "auto"
    queueing_config: pathlib.Path | None = None

    @property
    def copies(self) -> CopyRules:
        """Raises Failure."""
        try:
            return parse_rules(self.copy)
        except CopyRuleError as error:
            raise Failure(f"--copy: {error}", "write --copy ConfigMap or --copy Secret:team-a,team-b") from None

    def arguments(self) -> list[str]:
        """The equivalent command line options."""
        return [
            f"--worker-lost-timeout={self.worker_lost_timeout}s",
            f"--keep-finished={self.keep_finished}s",
            f"--fence-lease={self.fence_lease}s",
            *([f"--placement={self.placement}"] if self.placement else []),
            *(["--fencing"] if self.fencing else []),
            *(["--create-namespaces"] if self.create_namespaces else []),
            *(f"--kind-file={path.absolute()}" for path in self.kind_files),
            *(f"--copy={each}" for each in self.copy),
            *([f"--keep-logs={self.keep_logs}"] if self.keep_logs else []),
            f"--keep-logs-total={self.keep_logs_total}",
            f"--keep-logs-for={self.keep_logs_for}s",
            *([f"--queueing={self.queueing}"] if self.queueing != "auto" else []),
            *([f"--queueing-config={self.queueing_config.absolute()}"] if self.queueing_config is not None else []),
        ]

    def check(self) -> None:
        """Raises Failure for options that cannot be read, and for adapters that exclude each other."""
        from jobrelay.relay.placement import PolicyError, parse_policy
        from jobrelay.workloads import load_adapters

        _ = self.copies
        self._check_queueing()
        with conflicts():
            load_adapters(given=self.given_kinds())
        try:
            parse_policy(self.placement)
        except PolicyError as error:
            raise Failure(f"--placement: {error}", "docs/reference/placement.md lists the policies") from None

    def _check_queueing(self) -> None:
        if self.queueing_config is None:
            return
        from jobrelay.queueing.configuration import ConfigurationError, read_configuration

        try:
            read_configuration(self.queueing_config)
        except ConfigurationError as error:
            raise Failure(f"--queueing-config {error}", error.hint) from None

    def given_kinds(self) -> tuple[GivenKind, ...]:
        """The kinds that the files describe; raises Failure for one that cannot be used."""
        return given_kinds(self.kind_files)


def _minutes(duration: float) -> str:
    """A default in the notation of the command line."""
    return f"{duration / 60:g}m"


def _complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [kind for kind in COPYABLE if kind.startswith(incomplete)]


tuning_options = option_group(
    "tuning", Tuning,
    click.option(
        "--worker-lost-timeout", metavar="DURATION", callback=duration_seconds, default=_minutes(LOST_TIMEOUT),
        show_default=True, help="How long a worker may be unreachable before its Jobs start elsewhere.",
    ),
    click.option(
        "--keep-finished", metavar="DURATION", callback=duration_seconds, default=_minutes(KEEP_FINISHED),
        show_default=True, help="How long the mirror of a finished Job is kept on its worker, for its logs.",
    ),
    click.option(
        "--keep-logs", metavar="SIZE", callback=size_bytes, default="0", show_default=True,
        help="Keep so much of the end of each pod's log when its mirror is removed, such as 16Ki; 0 keeps nothing.",
    ),
    click.option(
        "--keep-logs-total", metavar="SIZE", callback=size_bytes, default="64Mi", show_default=True,
        help="How much all kept logs may take, compressed; the oldest are removed first.",
    ),
    click.option(
        "--keep-logs-for", metavar="DURATION", callback=duration_seconds, default="168h", show_default=True,
        help="How long a log is kept.",
    ),
    click.option(
        "--placement", metavar="POLICY", default="",
        help="The placement policy, such as 'least-loaded*2,cost'.  [default: fit,least-loaded,affinity]",
    ),
    click.option("--fencing", is_flag=True, help="Never let a Job run on two workers at once, unless it opts out."),
    click.option(
        "--fence-lease", metavar="DURATION", callback=duration_seconds, default=_minutes(FENCE_LEASE),
        show_default=True, help="How long a fenced Job keeps running after the relay last renewed its lease.",
    ),
    KIND_FILES,
    click.option("--create-namespaces", is_flag=True, help="Create a Job's namespace on its worker if it is missing."),
    click.option(
        "--copy", metavar="KIND[:NAMESPACE,...]", multiple=True, shell_complete=_complete_kind,
        help="Copy objects of this kind that Jobs name to workers that lack them; Secrets need namespaces. Can be "
        "repeated.",
    ),
    click.option(
        "--queueing", type=click.Choice(["auto", "on", "off"]), default="auto", show_default=True,
        help="Admit queued workloads by the quotas of Kueue's objects. auto: where they are served and Kueue's manager "
        "does not run; on: install their definitions too.",
    ),
    click.option(
        "--queueing-config", metavar="FILE", type=click.Path(path_type=pathlib.Path, dir_okay=False),
        help="Settings of queueing, in the format of Kueue's Configuration.",
    ),
)  # fmt: skip
