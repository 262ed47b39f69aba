"""Pod scripts: the annotations that say what a scripted pod does (docs/reference/scripted-pods.md).

All begin with `jobrelay.dev/`; times are seconds, fractions are allowed:

    start-seconds        how long the pod stays Pending on its node (0)
    ready-seconds        how long after its start it becomes ready (0); `never`
    run-seconds          how long its containers run (0, or forever with restartPolicy Always); `forever`
    exit-code            the exit code of its containers (0); `exit-code.NAME` for one container
    fail-indexes         completion indexes that fail, such as `1,3-5`, with the exit code or else 1
    fail-restarts        how many runs of a container fail before one succeeds, with the exit code or else 1
    reason, message      the reason and message of a terminated container
    pod-reason           the whole pod fails with this reason (`Evicted`), and its containers exit with 137
    disrupted            `true`: the pod ends with the condition DisruptionTarget
    stop-seconds         how long it takes to terminate when it is deleted (0), at most its grace period
    log                  what `kubectl logs` shows
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jobrelay.apimachinery.goint import read_int
from jobrelay.kinds.batch.job.names import INDEX_KEY

PREFIX: Final = "jobrelay.dev/"
KILLED: Final = 137


@dataclass(frozen=True, slots=True)
class PodScript:
    """What a scripted pod does, and when."""

    start: float = 0.0
    ready: float = 0.0
    run: float = 0.0
    stop: float = 0.0
    fail_restarts: int = 0
    exit_code: int = 0
    exit_codes: tuple[tuple[str, int], ...] = ()
    failing: bool = False
    reason: str = ""
    message: str = ""
    pod_reason: str = ""
    disrupted: bool = False
    log: str = ""

    def code(self, container: str, restarts: int) -> int:
        """The exit code of a container's run."""
        if self.pod_reason:
            return KILLED
        given = dict(self.exit_codes).get(container, self.exit_code)
        if self.failing or restarts < self.fail_restarts:
            return given or 1
        return 0 if self.fail_restarts else given


def parse_script(annotations: Mapping[str, str], restart_policy: str) -> PodScript:
    """Parses a pod's annotations; values that cannot be parsed are ignored."""
    own = {key[len(PREFIX) :]: value for key, value in annotations.items() if key.startswith(PREFIX)}
    if not own and restart_policy != "Always":
        return _NO_SCRIPT
    forever = math.inf if restart_policy == "Always" else 0.0
    codes = tuple((key[10:], _whole(text)) for key, text in own.items() if key.startswith("exit-code."))
    return PodScript(
        start=_number(own.get("start-seconds"), 0),
        ready=_number(own.get("ready-seconds"), 0),
        run=_number(own.get("run-seconds"), forever),
        stop=_number(own.get("stop-seconds"), 0),
        fail_restarts=_whole(own.get("fail-restarts")),
        exit_code=_whole(own.get("exit-code")),
        exit_codes=codes,
        failing=_listed(own.get("fail-indexes", ""), annotations.get(INDEX_KEY, "")),
        reason=own.get("reason", ""),
        message=own.get("message", ""),
        pod_reason=own.get("pod-reason", ""),
        disrupted=own.get("disrupted", "") == "true",
        log=own.get("log", ""),
    )


_NO_SCRIPT: Final = PodScript()


def _number(text: str | None, otherwise: float) -> float:
    if text in ("forever", "never"):
        return math.inf
    try:
        found = float(text or "")
    except ValueError:
        return otherwise
    return found if found >= 0 else otherwise


def _whole(text: str | None) -> int:
    return read_int(text) if text is not None and text.isascii() and text.isdecimal() else 0


def _listed(ranges: str, index: str) -> bool:
    """Whether an index is in a list of ranges such as `1,3-5`."""
    if not (index.isascii() and index.isdecimal()):
        return False
    for part in ranges.split(","):
        first, _, last = part.strip().partition("-")
        low, high = _whole(first), _whole(last if last.isdecimal() else first)
        if first.isdecimal() and low <= read_int(index) <= high:
            return True
    return False
