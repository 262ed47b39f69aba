"""What is counted, under the names of controller-runtime and client-go."""

from __future__ import annotations

from jobrelay.control import Controller, RunnablesCollector, TerminalError
from jobrelay.kube import Cache, Client, EventRecorder, FakeClock
from jobrelay.kube.metrics import LatencyHistogram, exposition
from jobrelay.kube.resource import JOBS

from .test_controller import Silent, running


def client() -> Client:
    return Client(Silent())


async def test_reconciles_are_counted_by_result(clock: FakeClock) -> None:
    async def reconcile(key: str) -> None:
        if key == "bad":
            raise TerminalError("no")

    controller = Controller("my jobs", reconcile, clock=clock)
    async with running(controller, clock):
        for key in ("a", "b", "bad"):
            controller.queue.add(key)
        await clock.settle()
    lines = exposition([RunnablesCollector(lambda: [controller])]).decode().splitlines()
    assert 'controller_runtime_reconcile_total{controller="my-jobs",result="success"} 2.0' in lines
    assert 'controller_runtime_reconcile_total{controller="my-jobs",result="error"} 1.0' in lines
    assert 'controller_runtime_terminal_reconcile_errors_total{controller="my-jobs"} 1.0' in lines
    assert 'controller_runtime_reconcile_time_seconds_count{controller="my-jobs"} 3.0' in lines
    assert 'workqueue_adds_total{name="my-jobs"} 3.0' in lines


async def test_caches_and_recorders_are_counted(clock: FakeClock) -> None:
    runnables = [Cache(client(), JOBS, "ns", clock=clock), EventRecorder(client(), "me", clock=clock), object()]
    lines = exposition([RunnablesCollector(lambda: runnables)]).decode().splitlines()
    assert 'reflector_lists_total{name="jobs.batch",namespace="ns"} 0.0' in lines
    assert 'jobrelay_events_dropped_total{name="me events"} 0.0' in lines


def test_a_histogram_counts_up_to_each_bound() -> None:
    histogram = LatencyHistogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        histogram.observe(seconds)
    samples = {(suffix, labels.get("le")): value for suffix, labels, value in histogram.samples({})}
    assert samples == {
        ("_bucket", "0.1"): 2,
        ("_bucket", "1"): 3,
        ("_bucket", "+Inf"): 4,
        ("_sum", None): 7.65,
        ("_count", None): 4,
    }
