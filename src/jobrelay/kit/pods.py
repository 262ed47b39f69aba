"""A whole Job controller under a name of its own: it makes pods, counts them and does all that the built-in one does.

It is the embedded cluster's Job controller, whose decisions are pure functions (`cluster.controllers.job.decide`), on
the kit's runtime: for another value of `.spec.managedBy`, against any cluster, and with statuses that are checked by
the rules before they are sent. It is the place to begin for a controller that is to differ in one point, such as when a
failed pod is replaced.
"""

from __future__ import annotations

from typing import Unpack

import msgspec

from jobrelay.cluster.controllers.job import BatchJobController as PodMakingController
from jobrelay.cluster.controllers.job import BatchJobStatus
from jobrelay.kit.runtime import ControllerRuntime, RuntimeOptions
from jobrelay.kube import Client, Object

__all__ = ["PodJobController"]


class PodJobController(ControllerRuntime):
    """Runs Jobs with `managedBy: <managed_by>` as pods; the options are those of `JobController`."""

    def __init__(self, client: Client, managed_by: str, **options: Unpack[RuntimeOptions]) -> None:
        super().__init__(client, managed_by, **options)
        PodMakingController(
            self._context, name=self.name, managed_by=managed_by, write_status=self._write_status
        )  # it adds itself to what the context's manager runs

    async def _write_status(self, job: Object, status: BatchJobStatus) -> Object:
        return await self.status.write(job, msgspec.json.decode(msgspec.json.encode(status)))
