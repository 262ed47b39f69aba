"""A lease that is renewed late, but in time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.relay.fleets import MakeFleet


@pytest.mark.parametrize("side", ["originals", "mirrors"])
async def test_what_is_seen_meanwhile_is_done_after(
    side: str, fleet: MakeFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fleet(1) as it:
        assert it.relay is not None
        originals, mirrors = it.relay.originals, it.relay.workers.controller("worker-1")
        late, lease = (originals, mirrors)[side == "mirrors"], SimpleNamespace(leads=False)
        monkeypatch.setattr(late, "_leads", lambda: lease.leads)
        await it.submit()

        async def put_off() -> bool:
            return late.controller.metrics.requeued > 0

        await it.until(put_off)
        assert await it.mirrors() == {}
        lease.leads = True
        assert (await it.finished())["succeeded"] == 1
