"""What a Job needs of a cluster: how many pods of which kind at a time.

The shape is what placement and probes are remembered by, so Jobs of one batch should share it. It leaves out what one Job
of a batch has different from the next and what no cluster looks at when it takes a Job: names, commands, arguments,
values of environment variables, the time that a CronJob meant.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import msgspec

from jobrelay.kube import Object
from jobrelay.workloads.adapter import Demand, PodSet
from jobrelay.workloads.job.mirrors import mirror_annotations, mirror_labels, mirror_spec
from jobrelay.workloads.requests import pod_requests

__all__ = ["demand"]

_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_OWN: Final = frozenset({"command", "args", "env"})
_GRACE: Final = 30.0
_encoder = msgspec.json.Encoder(order="deterministic")


def demand(obj: Object) -> Demand:
    job = obj.decode()
    spec = mirror_spec(job)
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
    return Demand((pods,), _shape(obj.namespace, job, spec), _GRACE if grace is None else float(grace))


def _shape(namespace: str, job: dict[str, Any], spec: dict[str, Any]) -> str:
    annotations = {key: value for key, value in mirror_annotations(job).items() if key != _SCHEDULED}
    template = spec["template"]
    pod = dict(template.get("spec") or {})
    for name in ("containers", "initContainers"):
        pod[name] = [_judged(container) for container in pod.get(name) or ()]
    judged = spec | {"template": {"metadata": template.get("metadata"), "spec": pod}, "suspend": None}
    return blake2b(_encoder.encode((namespace, mirror_labels(job), annotations, judged)), digest_size=16).hexdigest()


def _judged(container: dict[str, Any]) -> dict[str, Any]:
    names = [variable.get("name") for variable in container.get("env") or ()]
    return {key: value for key, value in container.items() if key not in _OWN} | {"env": names}
