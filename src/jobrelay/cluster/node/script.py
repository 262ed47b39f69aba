"""What a scripted pod does with its life, read from its annotations. docs/reference/scripted-pods.md tells users the same.

All begin with `jobrelay.dev/`; times are seconds, fractions allowed:

    start-seconds        how long the pod stays Pending once it has a node (0)
    ready-seconds        how long after its start it is ready (0); `never`
    run-seconds          how long its containers run (0, or for ever under restartPolicy Always); `forever`
    exit-code            what its containers end with (0); `exit-code.NAME` for one container
    fail-indexes         completion indexes that fail, such as `1,3-5`, with the exit code or else 1
    fail-restarts        how many first runs of a container fail before one succeeds, with the exit code or else 1
    reason, message      the reason and termination message of a container's end
    pod-reason           the pod fails as a whole with this reason (`Evicted`), and its containers end with 137
    disrupted            `true`: the end carries the condition DisruptionTarget
    stop-seconds         how long it takes to end once it is deleted (0), at most its grace period
    log                  what `kubectl logs` shows
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jobrelay.kinds.batch.job.names import INDEX_KEY

PREFIX: Final = "jobrelay.dev/"
KILLED: Final = 137


@dataclass(frozen=True, slots=True)
class Script:
    """A pod's life."""

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
        """What a container's run ends with."""
        if self.pod_reason:
            return KILLED
        given = dict(self.exit_codes).get(container, self.exit_code)
        if self.failing or restarts < self.fail_restarts:
            return given or 1
        return 0 if self.fail_restarts else given


def script_of(annotations: Mapping[str, str], restart_policy: str) -> Script:
    """Reads a script; what cannot be understood counts as not given."""
    own = {key[len(PREFIX) :]: value for key, value in annotations.items() if key.startswith(PREFIX)}
    if not own and restart_policy != "Always":
        return _AT_ONCE
    forever = math.inf if restart_policy == "Always" else 0.0
    codes = tuple((key[10:], _whole(text)) for key, text in own.items() if key.startswith("exit-code."))
    return Script(
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


_AT_ONCE: Final = Script()


def _number(text: str | None, otherwise: float) -> float:
    if text in ("forever", "never"):
        return math.inf
    try:
        found = float(text or "")
    except ValueError:
        return otherwise
    return found if found >= 0 else otherwise


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0


def _listed(ranges: str, index: str) -> bool:
    """Whether an index is in a list such as `1,3-5`."""
    if not index.isdecimal():
        return False
    for part in ranges.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and int(first) <= int(index) <= int(last if last.isdecimal() else first):
            return True
    return False
