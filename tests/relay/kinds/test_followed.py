"""Which kinds count as used."""

from __future__ import annotations

from random import Random

import msgspec

from jobrelay.kube import Client, FakeClock, Object
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import JOBS
from jobrelay.relay.followed_kinds import LINGER, FollowedKinds
from jobrelay.workloads import JobAdapter
from tests.relay.kinds.renders import RENDERS, RenderAdapter, render
from tests.relay.workers.support import running


def original(name: str = "trailer", version: str = "1", managed_by: str | None = "jobrelay.dev/relay") -> Object:
    body = render(name, managed_by=managed_by)
    body["metadata"] |= {"uid": name, "resourceVersion": version}
    return decode_object(msgspec.json.encode(body))


def followed(clock: FakeClock) -> FollowedKinds:
    client = Client(None)  # type: ignore[arg-type]
    return FollowedKinds([JobAdapter(), RenderAdapter()], client, clock=clock, random=Random(1), silence=150.0)


def test_jobs_are_always_used_and_other_kinds_with_their_first_delegated_original() -> None:
    kinds = followed(FakeClock())
    originals = kinds.kinds[str(RENDERS)].originals
    originals.put(original("local", managed_by=None))
    assert (kinds.in_use.uses(JOBS), kinds.in_use.uses(RENDERS)) == (True, False)
    originals.put(original())
    assert kinds.in_use.uses(RENDERS)


async def test_a_kind_stays_in_use_for_a_while_after_its_last_original() -> None:
    clock = FakeClock()
    kinds = followed(clock)
    originals = kinds.kinds[str(RENDERS)].originals
    async with running(kinds._retire()):
        for number in range(3):
            originals.put(original(str(number)))
            originals.discard(original(str(number)).key)
            await clock.advance(LINGER - 1)
            assert kinds.in_use.uses(RENDERS)
        await clock.advance(2)
        await clock.settle()
        assert not kinds.in_use.uses(RENDERS)
