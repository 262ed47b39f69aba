"""Definitions that went while no relay ran: mirrors are removed if they cannot have originals, and only then."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from jobrelay.kube import Request, Response, Transport
from jobrelay.relay import followed_kinds
from jobrelay.relay.overview import worker_views
from jobrelay.relay.workers.served_kinds import is_undefined
from tests.relay.kinds.fleets import MANAGEMENT, KindsFleet, kinds_fleet
from tests.relay.kinds.renders import RENDERS, render
from tests.relay.kinds.test_trouble import serve


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_kinds, "_UNDEFINED_FOR", 0.1)


@asynccontextmanager
async def left_behind() -> AsyncIterator[KindsFleet]:
    """The relay is down, and the only worker has a mirror."""
    async with kinds_fleet(MANAGEMENT, "worker-1", workers=1) as it:
        await it.on(MANAGEMENT).create(RENDERS, render())
        await it.mirror()
        await it.fleet.kill()
        yield it


class NoAnswer:
    """The server behind an API group does not answer, as that of an aggregated API that is down."""

    def __init__(self, inner: Transport) -> None:
        self.inner, self.asked = inner, 0

    async def send(self, request: Request) -> Response:
        if not request.path.endswith(f"/apis/{RENDERS.api_version}"):
            return await self.inner.send(request)
        self.asked += 1
        return Response(503, {}, b'{"kind":"Status","code":503,"reason":"ServiceUnavailable","message":"down"}')


async def test_mirrors_go_whose_definition_went() -> None:
    async with left_behind() as it:
        await it.undefine(MANAGEMENT)
        with capture_logs() as logs:
            await it.fleet.start()
            await it.gone()
        assert "mirrors of a kind without a definition" in [each["event"] for each in logs]
        assert await is_undefined(it.on(MANAGEMENT), RENDERS)


async def test_mirrors_stay_while_the_server_of_their_kind_does_not_answer() -> None:
    async with left_behind() as it:
        await it.undefine(MANAGEMENT)
        silent = NoAnswer(it.fleet.home)
        it.fleet.home = silent  # type: ignore[assignment]
        await it.fleet.start()

        async def tried() -> bool:
            return silent.asked > 10

        await it.fleet.until(tried)
        assert await it.get("worker-1") is not None


async def test_mirrors_stay_and_are_told_of_while_their_kind_is_merely_not_served() -> None:
    async with left_behind() as it:
        await serve(it, MANAGEMENT, served=False)
        await it.fleet.start()

        async def told() -> str:
            assert it.fleet.relay is not None
            return " ".join(worker_views(it.fleet.relay)[0].remarks)

        assert str(await it.fleet.until(told)) == (
            "1 mirrors of renders.film.example.com are left alone, since it is not known whether they have originals "
            "(the management cluster does not serve renders.film.example.com/v1): let the relay read "
            "renders.film.example.com there, or delete them by label jobrelay.dev/origin=tests"
        )
        assert await it.get("worker-1") is not None
        assert not await is_undefined(it.on(MANAGEMENT), RENDERS)
        await serve(it, MANAGEMENT, served=True)
        await it.fleet.until(it.placed)
        assert await it.get("worker-1") is not None


async def test_a_definition_that_comes_back_is_followed_again() -> None:
    async with left_behind() as it:
        await it.undefine(MANAGEMENT)
        await it.fleet.start()
        await it.gone()
        await it.define(MANAGEMENT)
        await it.on(MANAGEMENT).create(RENDERS, render())
        await it.mirror()
