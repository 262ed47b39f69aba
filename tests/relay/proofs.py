"""Keys for tests, and mirrors made by hand that are proven by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrelay.kube.resource import JOBS
from jobrelay.relay.proofs import ProofKeys, ProofSubject, cluster_binding
from jobrelay.relay.workers.proving import Proofs
from jobrelay.workloads.names import EPOCH, ORIGIN, ORIGIN_NAME, ORIGIN_UID, PROOF

KEYS = ProofKeys([b"k" * 32])


def known_proofs(origin: str) -> Proofs:
    return Proofs(origin, KEYS)


def proven(
    body: Mapping[str, Any],
    origin: str,
    worker: str,
    *,
    identity: str = "",
    uid: str = "u1",
    epoch: int = 1,
    keys: ProofKeys = KEYS,
) -> dict[str, Any]:
    """A Job as the mirror of a Job of the same name with some uid, on a worker."""
    metadata = body["metadata"]
    cluster = cluster_binding(worker, identity)
    subject = ProofSubject(origin, str(JOBS), uid, cluster, metadata["namespace"], metadata["name"], str(epoch))
    marks = {ORIGIN_UID: uid, ORIGIN_NAME: metadata["name"], EPOCH: str(epoch), PROOF: keys.sign(subject)}
    labels = {**metadata.get("labels", {}), ORIGIN: origin}
    annotations = {**metadata.get("annotations", {}), **marks}
    return {**body, "metadata": {**metadata, "labels": labels, "annotations": annotations}}
