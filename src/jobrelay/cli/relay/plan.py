"""The options of `jobrelay relay run` as a value."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass

from jobrelay.cli.relay.tuning import Tuning
from jobrelay.relay.settings import Settings

__all__ = ["RelayPlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayPlan:
    """The checked options; `settings` makes the relay's settings from them."""

    kubeconfig: pathlib.Path | None
    context: str | None
    workers: Mapping[str, pathlib.Path] | None
    """Kubeconfigs by worker name; None if workers are MultiKueueCluster objects."""
    tuning: Tuning
    origin: str | None
    namespace: str | None
    config: str | None
    allow_exec: frozenset[str]
    lease_name: str | None
    """None to lead without a Lease."""
    listen: tuple[str, int]
    json: bool

    def settings(self, origin: str) -> Settings:
        return Settings(
            origin,
            lost_timeout=self.tuning.worker_lost_timeout,
            keep_finished=self.tuning.keep_finished,
            fencing=self.tuning.fencing,
            lease=self.tuning.fence_lease,
            create_namespaces=self.tuning.create_namespaces,
        )
