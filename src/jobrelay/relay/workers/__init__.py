"""The workers: how they are registered, reached and watched.

A source names the registered workers and their kubeconfigs; the registry runs one `WorkerConnection` for each.
Snapshots take a connection's `facts()`, and writes go through its `client`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from jobrelay.relay.workers.connecting import Connect, over_network
    from jobrelay.relay.workers.connection import Loss, WorkerConnection
    from jobrelay.relay.workers.install import ensure_crds, ensure_namespace
    from jobrelay.relay.workers.loss import LossRecord
    from jobrelay.relay.workers.object_source import ObjectSource
    from jobrelay.relay.workers.proving import Proofs
    from jobrelay.relay.workers.registry import Registry
    from jobrelay.relay.workers.source import FlagSource, WorkerSource, parse_flag
    from jobrelay.relay.workers.spec import Access, RejectedKubeconfig, UsableKubeconfig, WorkerSpec
    from jobrelay.relay.workers.timing import Timing
    from jobrelay.relay.workers.transforms import strip_managed_fields

__all__ = [
    "Access",
    "Connect",
    "FlagSource",
    "Loss",
    "LossRecord",
    "ObjectSource",
    "Proofs",
    "Registry",
    "RejectedKubeconfig",
    "Timing",
    "UsableKubeconfig",
    "WorkerConnection",
    "WorkerSource",
    "WorkerSpec",
    "ensure_crds",
    "ensure_namespace",
    "over_network",
    "parse_flag",
    "strip_managed_fields",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(
        __name__,
        connecting="Connect over_network",
        connection="Loss WorkerConnection",
        install="ensure_crds ensure_namespace",
        loss="LossRecord",
        object_source="ObjectSource",
        proving="Proofs",
        registry="Registry",
        source="FlagSource WorkerSource parse_flag",
        spec="Access RejectedKubeconfig UsableKubeconfig WorkerSpec",
        timing="Timing",
        transforms="strip_managed_fields",
    )
