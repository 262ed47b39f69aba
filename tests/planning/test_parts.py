"""The parts of a plan: nodes as the embedded scheduler chooses them, the timeline, the picture, recordings."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.cluster.node.nodechoice import choose_node
from jobrelay.cluster.node.nodeinfo import NodeInfo, NodeUsage, PodDemand
from jobrelay.kube.objects import decode_object
from jobrelay.planning import parse_trace
from jobrelay.planning.picture import draw_plan, duration
from jobrelay.planning.recording import record_jobs
from jobrelay.planning.shapes import JobTexts, job_shape
from jobrelay.planning.timeline import UseTimeline
from jobrelay.planning.trace import COLUMNS, write_trace
from jobrelay.planning.worker import PlannedWorker

from .making import fleet, plan

SIZES = (1, 2, 4)


@given(st.lists(st.sampled_from(SIZES), min_size=1, max_size=12))
def test_pods_go_to_the_nodes_that_the_embedded_scheduler_chooses(sizes: list[int]) -> None:
    """Node for node, until none has room."""
    nodes = [{"cpu": 8, "memory": "16Gi"}, {"cpu": 4, "memory": "8Gi"}, {"cpu": 8, "memory": "8Gi"}]
    worker = PlannedWorker(0, fleet("a", nodes=nodes).workers[0])
    infos = [NodeInfo(f"node-{number}", {}, (), False, one) for number, one in enumerate(worker.plan.nodes, 1)]
    usage: dict[str, NodeUsage] = {}
    for cpu in sizes:
        shape = job_shape(JobTexts(cpu=str(cpu), memory=f"{cpu}Gi"))
        demand = PodDemand(requests=tuple(sorted(shape.demand.pod_sets[0].requests.items())))
        expected = choose_node(demand, infos, usage).node
        found = [f"node-{index + 1}" for index, _ in worker.bind(shape, 1)]
        assert found == ([expected] if expected else [])
        if expected:
            usage.setdefault(expected, NodeUsage()).add(demand)


def test_a_worker_shows_what_its_pods_take() -> None:
    worker = PlannedWorker(0, fleet("a").workers[0])
    shape = job_shape(JobTexts(cpu="1500m"))
    before = worker.facts(0)
    bound = worker.bind(shape, 2)
    (node,) = worker.facts(2).capacity.nodes
    assert (node.used["cpu"], node.used["pods"]) == (3, 2)
    worker.unbind(shape, bound)
    (node,) = worker.facts(0).capacity.nodes
    assert node.used["cpu"] == Fraction(0)
    assert before.capacity.version < worker.facts(0).capacity.version


def test_a_timeline_has_the_mean_level_of_each_interval() -> None:
    timeline = UseTimeline(1)
    timeline.step(0, 0.5, 2.0)
    timeline.step(0, 2.0, -2.0)
    assert timeline.means(0, 4.0) == [1.0, 2.0, 0.0, 0.0]


def test_intervals_double_when_time_goes_on() -> None:
    timeline = UseTimeline(1)
    timeline.step(0, 0.0, 1.0)
    timeline.step(0, 1000.0, -1.0)
    means = timeline.means(0, 2000.0)
    assert timeline.width * len(means) == pytest.approx(2000, abs=timeline.width)
    assert sum(means) / len(means) == pytest.approx(0.5, abs=0.01)


def test_the_picture_is_svg_with_every_policy_and_worker_for_light_and_dark() -> None:
    results = [plan(fleet("a", "b"), "0,60,4,1", "1,60,4,1", "2,60,4,1", policy=one) for one in ("pack", "spread")]
    drawn = draw_plan(results, "3 Jobs <on> 2 workers")
    ElementTree.fromstring(drawn)
    assert "prefers-color-scheme: dark" in drawn
    for text in ("pack: on average", "spread: use of CPU", ">a<", ">b<", "3 Jobs &lt;on&gt;"):
        assert text in drawn


def test_many_workers_share_rows_of_the_picture() -> None:
    names = [f"w{number}" for number in range(100)]
    drawn = draw_plan([plan(fleet(*names), "0,60,4,1")], "")
    assert "w0 … w4" in drawn
    assert drawn.count('class="empty"') <= 24


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (0.25, "0.2 s"), (42.4, "42 s"), (180, "3 min"), (5400, "1.5 h"), (200000, "2.3 d")],
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def job(name: str = "j", **more: Any) -> Any:
    status = {
        "startTime": "2026-01-01T10:00:10Z",
        "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T10:01:50Z"}],
    }
    container = {"name": "c", "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}}
    annotations = {"jobrelay.dev/assignment": '{"cluster":"w1","epoch":1}', "jobrelay.dev/clusters": "w1,w2"}
    body = {
        "metadata": {"name": name, "namespace": "team", "uid": name, "creationTimestamp": "2026-01-01T10:00:00Z",
                     "annotations": annotations},
        "spec": {"managedBy": "jobrelay.dev/relay", "parallelism": 2, "completions": 4,
                 "template": {"spec": {"containers": [container]}}},
        "status": status,
    }  # fmt: skip
    return decode_object(msgspec.json.encode(body | more))


def test_a_recording_has_creation_duration_and_needs_of_a_job(tmp_path: Any) -> None:
    (row,), running = record_jobs([job()])
    assert running == 0
    assert (row["submit"], row["duration"], row["worker"]) == ("2026-01-01T10:00:00Z", "50", "w1")
    assert (row["cpu"], row["memory"], row["pods"], row["completions"]) == ("250m", str(2**30), 2, 4)
    with (tmp_path / "jobs.csv").open("w") as file:
        write_trace([row], COLUMNS, file)
    (read,) = parse_trace((tmp_path / "jobs.csv").read_text().splitlines())
    assert (read.duration, read.shape.completions, read.shape.request.pinned) == (50, 4, ("w1", "w2"))


def test_a_recording_leaves_out_jobs_that_run_or_are_not_delegated() -> None:
    rows, running = record_jobs([job("running", status={}), job("own", spec={"template": {"spec": {}}})])
    assert (rows, running) == ([], 1)
