"""WHY in `jobrelay get`: short words that keep the number, from the relay's own sentences."""

from __future__ import annotations

import pytest

from jobrelay.cli.short_reason import short_reason
from jobrelay.kube.resource import JOBS
from tests.relay.fleets import MakeFleet, job

from .fleets import answering_fleet, call

SMALL = "0/1 nodes are large enough: a pod needs 64 cpu, its largest node has 2 cpu"
NO_WORKER = "Waits for a worker that can take it. "


@pytest.mark.parametrize(
    ("sentence", "short"),
    [
        (f"{NO_WORKER}a: {SMALL}; b: {SMALL}.", "needs 64 cpu, largest node 2"),
        (f"{NO_WORKER}a: {SMALL}; b: it is cordoned.", "a: needs 64 cpu, largest node 2; b: it is cordoned"),
        (f"{NO_WORKER}a: {SMALL}; b: {SMALL}; c: it is x.", "2 workers: needs 64 cpu, largest node 2; c: it is x"),
        (f"{NO_WORKER}a: {SMALL}; and 7 more.", f"a: {SMALL}; and 7 more"),
        (
            "Waits for room on 2 workers; the nearest is a, which has no room now: needs 2 cpu for 1 pod, "
            "0 of 2 cpu free on 1 node.",
            "needs 2 cpu, 0 of 2 free on a",
        ),
        ("It is suspended; a worker is chosen when it is resumed.",) * 2,
        (
            "None of its pods runs on a, where it was started at 2026-01-01T12:00:00Z: pod x: not on a node: no: room.",
            "pod x: not on a node: no: room",
        ),
        (
            "It has been running on a since 2026-01-01T12:00:00Z, with trouble: pod x: ended with exit code 1.",
            "pod x: ended with exit code 1",
        ),
        ("It failed (BackoffLimitExceeded), on a: pod x: container main ended.", "pod x: container main ended"),
        (
            "a has been unreachable since 2026-01-01T12:00:00Z (no route); it is started elsewhere at 13:00.",
            "a has been unreachable since 2026-01-01T12:00:00Z",
        ),
    ],
)
def test_a_sentence_becomes_a_few_words(sentence: str, short: str) -> None:
    assert short_reason(sentence) == short


async def test_sentences_of_a_relay_are_recognised(embedded_fleet: MakeFleet) -> None:
    async with answering_fleet(embedded_fleet) as it:
        body = job()
        body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "10000"}}
        await it.client.create(JOBS, body)
        row = (await call(it, "get", "jobs")).stdout.splitlines()[1]
        assert "   needs 10000 cpu, largest node " in row
