"""What a Job needs of a cluster: how many pods of which kind at the same time.

The answers of workers are remembered by the shape, so Jobs of one batch should share it. It leaves out what differs
between the Jobs of a batch and does not matter to a cluster that accepts a Job: names, commands, arguments, values of
environment variables, the scheduled time of a CronJob.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import msgspec

from jobrelay.kube import Object
from jobrelay.workloads.adapter import NOTHING_FOUND, Found, PodSet, WorkloadDemand
from jobrelay.workloads.job.mirror import mirror_spec, user_labels
from jobrelay.workloads.metadata import user_annotations
from jobrelay.workloads.requests import pod_requests

_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_NOT_JUDGED: Final = frozenset({"command", "args", "env"})
_GRACE: Final = 30.0
_encoder = msgspec.json.Encoder(order="deterministic")


def demand(original: Object, found: Found = NOTHING_FOUND) -> WorkloadDemand:
    """What a Job needs of a worker."""
    spec = mirror_spec(original.decode())
    pod: dict[str, Any] = spec["template"].get("spec") or {}
    parallelism, completions = spec.get("parallelism", 1), spec.get("completions")
    grace = pod.get("terminationGracePeriodSeconds")
    pods = PodSet(
        count=parallelism if completions is None else min(parallelism, completions),
        requests=pod_requests(pod),
        node_selector=pod.get("nodeSelector") or {},
        tolerations=tuple(pod.get("tolerations") or ()),
        affinity=(pod.get("affinity") or {}).get("nodeAffinity"),
    )
    return WorkloadDemand((pods,), _shape(original, spec), _GRACE if grace is None else float(grace))


def _shape(original: Object, spec: dict[str, Any]) -> str:
    annotations = user_annotations(original.metadata.annotations)
    annotations.pop(_SCHEDULED, None)
    template = spec["template"]
    pod = dict(template.get("spec") or {})
    for name in ("containers", "initContainers"):
        pod[name] = [_judged(container) for container in pod.get(name) or ()]
    judged = spec | {"template": {"metadata": template.get("metadata"), "spec": pod}, "suspend": None}
    whole = (original.namespace, user_labels(original), annotations, judged)
    return blake2b(_encoder.encode(whole), digest_size=16).hexdigest()


def _judged(container: dict[str, Any]) -> dict[str, Any]:
    names = [variable.get("name") for variable in container.get("env") or ()]
    return {key: value for key, value in container.items() if key not in _NOT_JUDGED} | {"env": names}
