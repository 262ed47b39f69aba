"""What a task runs: the command of a Job's only container, for a host that has no containers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kit.job import ManagedJob
from jobrelay.kit.tasks.errors import Unsupported

__all__ = ["TaskCommand", "read_command"]

INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_GRACE: Final = 30


@dataclass(frozen=True, slots=True)
class TaskCommand:
    """A program with its arguments, its additional environment and its folder ("" is any)."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    grace: int
    """Seconds between the request to stop and the end by force."""


def read_command(job: ManagedJob) -> TaskCommand:
    """The command of a Job; raises Unsupported."""
    for name in ("podFailurePolicy", "successPolicy"):
        if name in job.spec:
            raise Unsupported(f"spec.{name} is not supported by this controller")
    pod = job.pod
    if pod.get("initContainers") or len(pod["containers"]) != 1:
        raise Unsupported("a pod template with other than one container is not supported by this controller")
    container: dict[str, Any] = pod["containers"][0]
    arguments = [*(container.get("command") or ()), *(container.get("args") or ())]
    if not container.get("command"):
        raise Unsupported("the container needs a command, since this controller does not use its image")
    if container.get("envFrom") or any("valueFrom" in each for each in container.get("env") or ()):
        raise Unsupported("environment variables from other objects are not supported by this controller")
    if pod.get("volumes"):
        raise Unsupported("volumes are not supported by this controller")
    environment = {each["name"]: each.get("value", "") for each in container.get("env") or ()}
    grace = pod.get("terminationGracePeriodSeconds")
    return TaskCommand(
        tuple(arguments), environment, container.get("workingDir", ""), _GRACE if grace is None else grace
    )
