"""What a worker says about its own admission."""

from __future__ import annotations

import asyncio

from jobrelay.kube import Client, FakeClock
from jobrelay.operate.applying import ReportStep, Step, ignore
from jobrelay.operate.joining import _wait_for_policy
from tests.kube.scripted import ScriptedTransport, answer, refusal

JOB = {"metadata": {"name": "probe", "namespace": "team-a"}}


async def wait_for_policy(transport: ScriptedTransport, report: ReportStep) -> None:
    clock = FakeClock()
    waiting = asyncio.create_task(_wait_for_policy(Client(transport), "team-a", report, clock))
    await clock.advance(60)
    await waiting


async def test_join_waits_until_the_policy_refuses_other_jobs() -> None:
    transport = ScriptedTransport(answer(JOB), answer(JOB), refusal(403, "Forbidden"))
    await wait_for_policy(transport, ignore)
    assert [request.method for request in transport.requests] == ["POST"] * 3


async def test_a_policy_that_takes_no_effect_is_reported() -> None:
    steps: list[Step] = []
    transport = ScriptedTransport(*(answer(JOB) for _ in range(200)))
    await wait_for_policy(transport, steps.append)
    assert [step.action for step in steps] == ["not enforced yet"]
