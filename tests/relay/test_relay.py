"""The relay at work on an embedded fleet."""

from __future__ import annotations

from tests.relay.fleets import fleet


async def test_a_delegated_job_runs_on_a_worker_and_its_status_comes_back() -> None:
    async with fleet() as it:
        await it.submit()
        status = await it.finished()
        assert status["succeeded"] == 1
        assert [one["type"] for one in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
        mirrors = await it.mirrors()
        assert list(mirrors) == [await it.place()]
        assert "managedBy" not in mirrors[await it.place()].decode()["spec"]
