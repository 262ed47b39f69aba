"""What `jobrelay relay run` was asked to do, as a value."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass

from jobrelay.cli.relay.tuning import Tuning
from jobrelay.relay.settings import Settings

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    kubeconfig: pathlib.Path | None
    context: str | None
    workers: Mapping[str, pathlib.Path] | None
    """Kubeconfigs by name; None if workers are objects on the management cluster."""
    tuning: Tuning
    origin: str | None
    namespace: str | None
    config: str | None
    allow_exec: frozenset[str]
    lease_name: str | None
    """None if the relay leads without a Lease."""
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
