"""Whatever a controller reports, in whatever order: a status is legal, or is refused by name before it is sent."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobrelay.kinds.batch.job.strategy import JOB
from jobrelay.kit import Failed, IllegalStatus, Indexes, JobReport, StatusWriter, Succeeded
from jobrelay.kit.rules import canonical_job
from jobrelay.kube import FakeClock, Invalid, Object, merge_patch
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import JOBS
from tests.relay.fleets import AnyCluster

from .jobs import SPECS, STEPS, Obj, Step, job, stored

T = TypeVar("T")
INDEXED = {"completions": 4, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1}
DONE, BROKEN = JobReport(outcome=Succeeded()), JobReport(outcome=Failed("Broken", "It broke"))
BREAKING: dict[str, tuple[Obj, list[JobReport]]] = {
    "S1": ({}, [JobReport(active=-1)]),
    "S2": ({}, [JobReport(succeeded=-1)]),
    "S3": ({}, [JobReport(failed=-1)]),
    "S4": ({}, [JobReport(ready=-1)]),
    "S5": ({}, [JobReport(terminating=-1)]),
    "S9": ({}, [BROKEN, DONE]),
    "S15": ({}, [DONE, JobReport(active=1)]),
    "S18": (INDEXED, [JobReport(completed_indexes=Indexes.of([4]))]),
    "S19": (INDEXED, [JobReport(failed_indexes=Indexes.of([4]))]),
    "S20": ({}, [JobReport(completed_indexes=Indexes.of([0]))]),
    "S21": ({}, [JobReport(failed_indexes=Indexes.of([0]))]),
    "S22": (INDEXED, [JobReport(completed_indexes=Indexes.of([1]), failed_indexes=Indexes.of([1]))]),
    "S23": ({}, [DONE, JobReport(terminating=1)]),
    "S24": ({}, [JobReport(active=1, ready=2)]),
    "S25": ({}, [DONE, BROKEN]),
    "S26": ({}, [JobReport(active=1, outcome=Succeeded()), JobReport(active=1, outcome=Failed("Broken", ""))]),
    "S29": ({}, [JobReport(failed=2), JobReport(failed=-1)]),
    "S30": ({}, [JobReport(succeeded=2), JobReport(succeeded=-1)]),
}
"""Rules that reports can break; the last report does. The other rules are about what a report cannot express."""
WITH_OTHERS = {"S8"}
"""Rules that are only broken together with one of those."""


def completed(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("it waits")


class RulingClient:
    """Stores a status if the hooks that the embedded API server calls have nothing against it."""

    transport = None

    def __init__(self) -> None:
        self.requests = 0

    async def replace_status(self, resource: object, body: Obj, *, key: object) -> Object:
        self.requests += 1
        return decode_object(json.dumps(body).encode())


class WallClock(FakeClock):
    """A clock that somebody sets, also back."""

    shifted = timedelta()

    def now(self) -> datetime:
        return super().now() + self.shifted


class History:
    """One Job under a sequence of steps."""

    def __init__(self, spec: Obj) -> None:
        self.clock, self.client = WallClock(), RulingClient()
        self.writer = StatusWriter(self.client, clock=self.clock)  # type: ignore[arg-type]
        self.job = decode_object(json.dumps(stored(**spec)).encode())
        self.broken: set[str] = set()

    def take(self, step: Step) -> None:
        self.clock.shifted += timedelta(seconds=step.seconds)
        self._change_spec(step)
        before, requests = self.job, self.client.requests
        try:
            self.job = completed(self.writer.report(self.job, step.report))
        except IllegalStatus as error:
            self.broken |= {rule.name for rule in error.broken}
            assert self.broken
            assert self.client.requests == requests
            return
        new, old = canonical_job(self.job.decode()), canonical_job(before.decode())
        assert JOB.subresources["status"].validate(new, old) == []

    def _change_spec(self, step: Step) -> None:
        obj = self.job.decode()
        if step.suspend is not None:
            obj["spec"]["suspend"] = step.suspend
        if step.size is not None and obj["spec"]["completionMode"] == "Indexed":
            obj["spec"] |= {"completions": step.size, "parallelism": step.size}
        self.job = decode_object(json.dumps(obj).encode())


@settings(max_examples=200)
@given(SPECS, st.lists(STEPS, min_size=1, max_size=8))
def test_every_status_that_is_sent_is_legal(spec: Obj, steps: list[Step]) -> None:
    history = History(spec)
    for step in steps:
        history.take(step)
    assert history.broken <= {*BREAKING, *WITH_OTHERS}


@settings(max_examples=60)
@given(SPECS, st.lists(STEPS, min_size=1, max_size=4))
def test_reporting_the_same_again_sends_nothing(spec: Obj, steps: list[Step]) -> None:
    history = History(spec)
    for step in steps:
        history.take(step)
        requests = history.client.requests
        history.take(Step(0, None, None, step.report))
        assert history.client.requests == requests


@pytest.mark.parametrize("name", BREAKING)
def test_the_rule_that_a_report_breaks_is_named(name: str) -> None:
    spec, reports = BREAKING[name]
    history = History(spec)
    for report in reports[:-1]:
        history.take(Step(1, None, None, report))
    assert history.broken == set()
    history.take(Step(1, None, None, reports[-1]))
    assert name in history.broken


async def test_a_cluster_accepts_what_is_sent(any_cluster: AnyCluster) -> None:
    """The same on whole API servers, with the sequences of a fixed seed."""
    client = any_cluster.client()
    writer = StatusWriter(client)
    sequences: list[tuple[Obj, list[Step]]] = []

    @settings(max_examples=25, database=None)
    @given(SPECS, st.lists(STEPS, min_size=2, max_size=5))
    def draw(spec: Obj, steps: list[Step]) -> None:
        sequences.append((spec, steps))

    draw()
    written = 0
    for number, (spec, steps) in enumerate(sequences):
        made = await client.create(JOBS, job(f"j{number}", **spec))
        for step in steps:
            made = await _changed(client, made, step)
            try:
                after = await writer.report(made, step.report)
            except IllegalStatus:
                continue
            written += after is not made
            made = after
    assert written > len(sequences) / 2


async def _changed(client: Any, made: Object, step: Step) -> Object:
    """The Job after its user has changed it, where that is allowed."""
    spec: Obj = {} if step.suspend is None else {"suspend": step.suspend}
    if step.size is not None and made.decode()["spec"]["completionMode"] == "Indexed":
        spec |= {"completions": step.size, "parallelism": step.size}
    try:
        changed: Object = await client.patch(JOBS, made.name, merge_patch({"spec": spec}), made.namespace)
    except Invalid:
        return made
    return changed
