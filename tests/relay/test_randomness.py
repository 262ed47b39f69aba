"""A relay that is given a source of randomness uses no other, so that a simulation can repeat what it does."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from jobrelay.kube import Client, backoff, cache
from jobrelay.kube.events import recorder
from jobrelay.relay import RelayManager
from tests.relay.fleets import NAMESPACE, MakeFleet


async def test_a_relay_makes_no_randomness_of_its_own(fleet: MakeFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def own() -> Random:
        made.append("one more")
        return Random()

    async with fleet() as it:
        await it.kill()
        for module in (backoff, cache, recorder):
            monkeypatch.setattr(module, "Random", own)
        relay = RelayManager(
            Client(it.home), it.source, it.settings,
            namespace=NAMESPACE, connect=it.connect, timing=it.timing, random=Random(1),
        )  # fmt: skip
        running = asyncio.create_task(relay.run())
        await it.submit()
        await it.finished()
        running.cancel()
        await asyncio.wait({running})
    assert made == []
