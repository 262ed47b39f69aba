"""The relay for its users, as a Python object, synchronous or asynchronous.

`Relay` and `AsyncRelay` are also names of the package `jobrelay` itself.

    from jobrelay import Relay

    with Relay() as relay:
        train = relay.submit(manifest)
        for line in relay.logs(train, follow=True):
            print(line.text)
        assert relay.wait(train).succeeded
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from .delegation import Submission, delegate
    from .errors import RelayError, WaitTimeout
    from .job_options import JobOptions, job_manifest
    from .names import WorkloadName
    from .pod_logs import LogLine, LogOptions
    from .relay import AsyncRelay, SubmittedWorkload, WorkloadResult
    from .sync import Relay

__all__ = [
    "AsyncRelay", "JobOptions", "LogLine", "LogOptions", "Relay", "RelayError", "Submission", "SubmittedWorkload",
    "WaitTimeout", "WorkloadName", "WorkloadResult", "delegate", "job_manifest",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, "names", "errors", "delegation", "job_options", "pod_logs", "relay", "sync")
