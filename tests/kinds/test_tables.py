"""What `kubectl get` shows: columns, cells, ages and row conditions."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from jobrelay.kinds.tables import crd_table, table_for
from jobrelay.kinds.tables.ages import human_duration
from jobrelay.kinds.tables.columns import PLAIN

NOW = dt.datetime(2024, 1, 2, 12, 0, 0, tzinfo=dt.UTC)
META = {"name": "a", "creationTimestamp": "2024-01-02T11:58:30Z"}


def show(group: str, plural: str, **fields: Any) -> dict[str, Any]:
    """The cells of an object by column."""
    table = table_for(group, plural)
    cells = table.cells({"metadata": META, **fields}, NOW)
    return dict(zip((column["name"] for column in table.columns), cells, strict=False))


def pod(status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return show("", "pods", spec={"containers": [{"name": "a"}, {"name": "b"}], **spec}, status=status)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (8 * 3600 - 60, "7h59m"),
        (47 * 3600, "47h"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (2 * 365 * 86400, "2y"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (9 * 365 * 86400 + 86400, "9y"),
    ],
)
def test_durations_have_two_or_three_figures(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def test_the_name_column_is_described_by_the_api_itself() -> None:
    name = table_for("batch", "jobs").columns[0]
    assert (name["name"], name["type"], name["format"], name["priority"]) == ("Name", "string", "name", 0)
    assert name["description"].startswith("Name must be unique within a namespace.")


def test_every_served_kind_can_define_its_columns() -> None:
    from jobrelay.kinds.tables.catalog import _tables

    for table in _tables().values():
        assert all(set(column) == {"name", "type", "format", "description", "priority"} for column in table.columns)


def test_a_kind_without_columns_of_its_own_shows_when_it_was_created() -> None:
    assert table_for("example.com", "widgets") is PLAIN
    assert PLAIN.cells({"metadata": META}, NOW) == ["a", "2024-01-02T11:58:30Z"]


@pytest.mark.parametrize(
    ("spec", "text"),
    [({"completions": 5}, "2/5"), ({"parallelism": 3}, "2/1 of 3"), ({"parallelism": 1}, "2/1")],
)
def test_job_completions(spec: dict[str, Any], text: str) -> None:
    shown = show("batch", "jobs", spec={"template": {}, **spec}, status={"succeeded": 2})
    assert shown["Completions"] == text


def test_a_finished_job_shows_how_long_it_ran() -> None:
    status = {
        "startTime": "2024-01-01T00:00:00Z",
        "completionTime": "2024-01-01T01:30:05Z",
        "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}],
    }
    shown = show("batch", "jobs", spec={"template": {}}, status=status)
    assert (shown["Status"], shown["Duration"], shown["Age"]) == ("Complete", "90m", "90s")


def test_a_cron_job_without_a_run() -> None:
    shown = show("batch", "cronjobs", spec={"schedule": "* * * * *", "suspend": False, "jobTemplate": {}}, status={})
    assert (shown["Timezone"], shown["Suspend"], shown["Active"], shown["Last Schedule"]) == (
        "<none>",
        "False",
        0,
        "<none>",
    )


def test_a_crash_loop_shows_restarts_and_the_last_one() -> None:
    ended = {"terminated": {"exitCode": 1, "finishedAt": "2024-01-02T11:55:00Z"}}
    waiting = {"name": "a", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended}
    running = {"name": "b", "ready": True, "state": {"running": {}}}
    shown = pod({"phase": "Running", "containerStatuses": [waiting, running]})
    assert (shown["Ready"], shown["Status"], shown["Restarts"]) == ("1/2", "CrashLoopBackOff", "3 (5m ago)")


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"terminated": {"exitCode": 4}}, "Init:ExitCode:4"),
        ({"terminated": {"exitCode": 1, "signal": 9}}, "Init:Signal:9"),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "Init:Error"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, "Init:ImagePullBackOff"),
        ({"waiting": {"reason": "PodInitializing"}}, "Init:0/2"),
    ],
)
def test_init_containers_that_are_not_done(state: dict[str, Any], text: str) -> None:
    init = [{"name": "i"}, {"name": "j"}]
    shown = pod({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": state}]}, initContainers=init)
    assert shown["Status"] == text


def test_a_completed_container_beside_a_running_one_is_not_completed() -> None:
    done = {"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    running = {"name": "b", "ready": True, "state": {"running": {}}}
    status: dict[str, Any] = {"phase": "Running", "containerStatuses": [done, running]}
    assert pod(status)["Status"] == "NotReady"
    assert pod({**status, "conditions": [{"type": "Ready", "status": "True"}]})["Status"] == "Running"


def test_a_finished_pod_row_carries_a_condition() -> None:
    conditions = table_for("", "pods").conditions({"status": {"phase": "Failed"}})
    assert conditions == [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}]
    assert table_for("", "pods").conditions({"status": {"phase": "Running"}}) == []


def test_both_event_apis_show_the_same_row() -> None:
    old = show("", "events", involvedObject={"kind": "Pod", "name": "p"}, message=" m\n", source={"component": "c"})
    new = show(
        "events.k8s.io", "events", regarding={"kind": "Pod", "name": "p"}, note="m", deprecatedSource={"component": "c"}
    )
    assert old == new
    assert (new["Object"], new["Message"], new["Count"], new["Last Seen"]) == ("pod/p", "m", 1, "<unknown>")


def test_more_endpoints_than_fit_are_counted() -> None:
    subsets = [{"addresses": [{"ip": f"10.0.0.{i}"} for i in range(5)], "ports": [{"port": 80}]}]
    assert show("", "endpoints", subsets=subsets)["Endpoints"] == "10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 2 more..."


def test_a_load_balancer_without_an_address_is_pending() -> None:
    assert show("", "services", spec={"type": "LoadBalancer"})["External-IP"] == "<pending>"


def test_flow_schemas_are_listed_by_precedence() -> None:
    schemas = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": rank}}
        for name, rank in (("b", 2), ("a", 9), ("c", 2))
    ]
    ordered = table_for("flowcontrol.apiserver.k8s.io", "flowschemas").order(schemas)
    assert [schema["metadata"]["name"] for schema in ordered] == ["b", "c", "a"]


def test_a_version_1_autoscaler_is_shown_as_version_2() -> None:
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 80,
    }
    shown = show("autoscaling", "horizontalpodautoscalers", apiVersion="autoscaling/v1", spec=spec, status={})
    assert (shown["Reference"], shown["Targets"]) == ("Deployment/d", "cpu: <unknown>/80%")


def test_custom_resources_without_printer_columns_show_their_age() -> None:
    table = crd_table(None)
    assert [column["name"] for column in table.columns] == ["Name", "Age"]
    assert table.cells({"metadata": META}, NOW) == ["a", "90s"]


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("string", ".spec.text", "x"),
        ("string", ".spec.size", "3"),
        ("string", ".spec.map", '{"k":["\\u003c"]}'),
        ("string", ".spec.ratio", "1.2345678925e+08"),
        ("string", ".spec.missing", None),
        ("integer", ".spec.text", None),
        ("integer", ".spec.ratio", 123456789),
        ("boolean", ".spec.on", True),
        ("date", ".spec.when", "12h"),
        ("date", ".spec.text", "<invalid>"),
    ],
)
def test_custom_cells_follow_the_type_of_their_column(kind: str, path: str, cell: Any) -> None:
    spec = {
        "text": "x",
        "size": 3,
        "map": {"k": ["<"]},
        "ratio": 123456789.25,
        "on": True,
        "when": "2024-01-02T00:00:00Z",
    }
    table = crd_table([{"name": "C", "type": kind, "jsonPath": path}])
    assert table.cells({"metadata": META, "spec": spec}, NOW) == ["a", cell]
