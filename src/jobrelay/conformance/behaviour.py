"""How the pods of a scenario's Job end, in all the ways in which somebody may run them.

A pod has both: a command, for kubelets and for controllers that run it without a pod, and the annotations of scripted
pods (docs/reference/scripted-pods.md), for embedded clusters and for a run that plays the pods itself. The end depends
on the completion index and on nothing else, so that no pod has to know which attempt it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kinds.batch.job.indexes import Indexes

__all__ = ["PodBehaviour"]

_REQUESTS: Final = {"cpu": "1m", "memory": "4Mi"}


@dataclass(frozen=True, slots=True)
class PodBehaviour:
    """What each pod does: run for some seconds, then exit.

    Pods with one of `failing` as completion index exit with 1, all others with `code`. A deleted pod takes `stop`
    seconds to end.
    """

    seconds: int = 1
    code: int = 0
    failing: tuple[int, ...] = ()
    stop: int = 1

    def template(self, image: str, labels: Mapping[str, str]) -> dict[str, Any]:
        """The pod template of such a Job."""
        command = ["sh", "-c", self._script()]
        container = {"name": "main", "image": image, "command": command, "resources": {"requests": _REQUESTS}}
        pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": self.stop, "containers": [container]}
        return {"metadata": {"labels": dict(labels), "annotations": self._annotations()}, "spec": pod}

    def _script(self) -> str:
        cases = "|".join(map(str, self.failing))
        choice = f'case "$JOB_COMPLETION_INDEX" in {cases}) exit 1;; esac; ' if cases else ""
        stopping = f"trap 'sleep {self.stop}; exit 143' TERM; "
        return f"{stopping}sleep {self.seconds} & wait $!; {choice}exit {self.code}"

    def _annotations(self) -> dict[str, str]:
        script = {"run-seconds": str(self.seconds), "stop-seconds": str(self.stop)}
        if self.failing:
            script["fail-indexes"] = str(Indexes.of(self.failing))
        if self.code:
            script["exit-code"] = str(self.code)
        return {f"jobrelay.dev/{name}": value for name, value in script.items()}
