"""The options of the relay's behaviour, shared by `relay run` and `up`."""

from __future__ import annotations

from dataclasses import dataclass

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.options import duration_seconds, option_group
from jobrelay.relay.settings import FENCE_LEASE, KEEP_FINISHED, LOST_TIMEOUT

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

    def arguments(self) -> list[str]:
        """The equivalent command line options."""
        return [
            f"--worker-lost-timeout={self.worker_lost_timeout}s",
            f"--keep-finished={self.keep_finished}s",
            f"--fence-lease={self.fence_lease}s",
            *([f"--placement={self.placement}"] if self.placement else []),
            *(["--fencing"] if self.fencing else []),
            *(["--create-namespaces"] if self.create_namespaces else []),
        ]

    def check(self) -> None:
        """Raises Failure for a policy that cannot be read, and for adapters that exclude each other."""
        from jobrelay.relay.placement import PolicyError, parse_policy
        from jobrelay.workloads import AdapterConflict, load_adapters

        try:
            load_adapters()
            parse_policy(self.placement)
        except AdapterConflict as error:
            raise Failure(str(error), "uninstall one of the two packages") from None
        except PolicyError as error:
            raise Failure(f"--placement: {error}", "docs/reference/placement.md lists the policies") from None


def _minutes(duration: float) -> str:
    """A default in the notation of the command line."""
    return f"{duration / 60:g}m"


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
        "--placement", metavar="POLICY", default="",
        help="The placement policy, such as 'least-loaded*2,cost'.  [default: fit,least-loaded,affinity]",
    ),
    click.option("--fencing", is_flag=True, help="Never let a Job run on two workers at once, unless it opts out."),
    click.option(
        "--fence-lease", metavar="DURATION", callback=duration_seconds, default=_minutes(FENCE_LEASE),
        show_default=True, help="How long a fenced Job keeps running after the relay last renewed its lease.",
    ),
    click.option("--create-namespaces", is_flag=True, help="Create a Job's namespace on its worker if it is missing."),
)  # fmt: skip
