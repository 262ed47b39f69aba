"""The workload kinds that are built in: Jobs, and the kinds whose descriptions are beside this module.

Where several kinds could claim a pod, the one whose object is outermost comes first: pods of a JobSet belong to Jobs,
too, and those of a PipelineRun to TaskRuns. Therefore Jobs are the last.

`descriptions.json` is generated from the YAML files (`make reference`): every command reads it, and YAML takes long.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final

import msgspec

from jobrelay.kube.resource import JOBS
from jobrelay.workloads.adapter import Adapter
from jobrelay.workloads.builtin.deferred import deferred_adapter
from jobrelay.workloads.declared.description import KindDescription
from jobrelay.workloads.job.reader import JobReader

__all__ = ["GENERATED", "built_in_adapters", "built_in_descriptions", "deferred_adapters"]

GENERATED: Final = Path(__file__).with_name("descriptions.json")


def built_in_adapters() -> tuple[Adapter, ...]:
    """A new adapter for each built-in kind."""
    known = built_in_descriptions()
    return (*(_adapter(kind, known) for kind in known.values()), _job_adapter())


def deferred_adapters() -> tuple[Adapter, ...]:
    """The same, each made when it is used: most commands use one of them."""
    known = built_in_descriptions()
    others = (deferred_adapter(kind.api_resource, partial(_adapter, kind, known)) for kind in known.values())
    return (*others, deferred_adapter(JOBS, _job_adapter, JobReader()))


def _job_adapter() -> Adapter:
    from jobrelay.workloads.job import JobAdapter

    return JobAdapter()


@cache
def built_in_descriptions() -> Mapping[str, KindDescription]:
    """The descriptions by kind."""
    found = msgspec.json.decode(GENERATED.read_bytes(), type=list[KindDescription])
    return {kind.resource.kind: kind for kind in found}


def _adapter(kind: KindDescription, known: Mapping[str, KindDescription]) -> Adapter:
    """Imports only what this kind needs."""
    match kind.resource.kind:
        case "AppWrapper":
            from jobrelay.workloads.builtin.appwrapper import AppWrapperAdapter

            return AppWrapperAdapter(kind, known)
        case "PipelineRun" | "TaskRun":
            from jobrelay.workloads.builtin.tekton import pipeline_run_adapter, task_run_adapter

            return pipeline_run_adapter(kind) if kind.resource.kind == "PipelineRun" else task_run_adapter(kind)
        case "RayCluster" | "RayJob" | "RayService":
            from jobrelay.workloads.builtin.ray import ray_adapter

            return ray_adapter(kind)
        case "TrainJob":
            from jobrelay.workloads.builtin.trainjob import TrainJobAdapter

            return TrainJobAdapter(kind)
        case _:
            from jobrelay.workloads.declared import DeclaredAdapter

            return DeclaredAdapter(kind)
