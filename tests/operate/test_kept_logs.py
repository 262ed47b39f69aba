"""Logs are kept with no more rights than `install` and `worker join` give the relay."""

from __future__ import annotations

from jobrelay.kube.resource import CONFIGMAPS, JOBS
from jobrelay.relay.kept_logs.kept import KEPT, WORKLOAD
from tests.relay.api import talking
from tests.relay.fleets import MakeFleet

from .fleets import TEAMS, installed_relay, joined, make_namespaces


async def test_logs_are_kept_and_swept_under_these_identities(embedded_fleet: MakeFleet) -> None:
    async with embedded_fleet(1, start=False) as it, joined(it):
        await make_namespaces(it.client, *TEAMS)
        async with installed_relay(it, keep_finished=0.0, keep_logs=4096):
            made = talking()
            await it.client.create(JOBS, {**made, "metadata": {**made["metadata"], "namespace": "team-a"}})

            async def kept() -> list[str]:
                found = (await it.client.list(CONFIGMAPS, label_selector=KEPT)).items
                return [each.metadata.annotations[WORKLOAD] for each in found]

            assert await it.until(kept, 60) == ["jobs.batch team-a/train"]
            await it.client.delete(JOBS, "train", "team-a")

            async def swept() -> bool:
                return not await kept()

            await it.until(swept, 120)
