"""The workload kinds that are built in: Jobs, and the kinds whose descriptions are beside this module.

Where several kinds could claim a pod, the one whose object is outermost comes first: pods of a JobSet belong to Jobs,
too, and those of a PipelineRun to TaskRuns. Therefore Jobs are the last.

`descriptions.json` is generated from the YAML files (`make reference`): every command reads it, and YAML takes long.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from jobrelay.workloads.adapter import Adapter
from jobrelay.workloads.builtin.appwrapper import AppWrapperAdapter
from jobrelay.workloads.builtin.ray import RayAdapter, RayJobAdapter
from jobrelay.workloads.builtin.tekton import pipeline_run_adapter, task_run_adapter
from jobrelay.workloads.builtin.trainjob import TrainJobAdapter
from jobrelay.workloads.declared import DeclaredAdapter, KindDescription
from jobrelay.workloads.job import JobAdapter

__all__ = ["GENERATED", "built_in_adapters", "built_in_descriptions"]

GENERATED: Final = Path(__file__).with_name("descriptions.json")


def built_in_adapters() -> tuple[Adapter, ...]:
    """A new adapter for each built-in kind."""
    known = built_in_descriptions()
    return (*(_adapter(kind, known) for kind in known.values()), JobAdapter())


@cache
def built_in_descriptions() -> Mapping[str, KindDescription]:
    """The descriptions by kind."""
    found = msgspec.json.decode(GENERATED.read_bytes(), type=list[KindDescription])
    return {kind.resource.kind: kind for kind in found}


def _adapter(kind: KindDescription, known: Mapping[str, KindDescription]) -> Adapter:
    match kind.resource.kind:
        case "AppWrapper":
            return AppWrapperAdapter(kind, known)
        case "PipelineRun":
            return pipeline_run_adapter(kind)
        case "TaskRun":
            return task_run_adapter(kind)
        case "RayCluster":
            return RayAdapter(kind, "spec")
        case "RayJob":
            return RayJobAdapter(kind, "spec.rayClusterSpec")
        case "RayService":
            return RayAdapter(kind, "spec.rayClusterConfig")
        case "TrainJob":
            return TrainJobAdapter(kind)
        case _:
            return DeclaredAdapter(kind)
