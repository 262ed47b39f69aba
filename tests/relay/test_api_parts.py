"""The pure parts of the API: identities in headers, names of workloads, what is wrong with pods, documents."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kube.objects import Object, decode_object
from jobrelay.relay.api.callers import Caller, RequestHeaders, caller_of, parse_request_headers
from jobrelay.relay.api.discovery import RESOURCES
from jobrelay.relay.api.failures import ApiFailure
from jobrelay.relay.api.logs import LogRequest, parse_log_request, whole_lines
from jobrelay.relay.api.openapi import document_v2, document_v3
from jobrelay.relay.api.workloads import workload_table
from jobrelay.relay.mirror_pods.troubles import crashed, phases, troubles
from jobrelay.relay.run_history import run_history
from jobrelay.relay.worker_assignment import Run, WorkerAssignment

PUBLISHED = {
    "requestheader-client-ca-file": "PEM",
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}


def published(**changes: str) -> RequestHeaders:
    found = parse_request_headers(
        PUBLISHED | {f"requestheader-{name.replace('_', '-')}": text for name, text in changes.items()}
    )
    assert found is not None
    return found


def pod(name: str = "train-0", labels: dict[str, str] | None = None, **status: Any) -> Object:
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels or {}}
    return decode_object(json.dumps({"metadata": metadata, "spec": {"containers": []}, "status": status}).encode())


def container(**state: Any) -> dict[str, Any]:
    return {"name": "main", "restartCount": 0, **state}


def test_a_caller_is_read_from_the_published_headers() -> None:
    fields = [("x-remote-user", "ann"), ("X-Remote-Group", "a"), ("X-Remote-Group", "b"), ("X-Remote-Uid", "7")]
    found = caller_of([*fields, ("X-Remote-Extra-A%2fB", "c")], published())
    assert found == Caller("ann", "7", ("a", "b"), (("a/b", ("c",)),))


def test_headers_that_name_nobody_give_no_caller() -> None:
    assert caller_of([("X-Remote-Group", "system:masters")], published()) is None
    assert caller_of([("X-Remote-User", "")], published()) is None


def test_without_an_authority_there_is_no_front_proxy() -> None:
    assert parse_request_headers({}) is None
    assert parse_request_headers(PUBLISHED | {"requestheader-client-ca-file": " "}) is None


def test_allowed_names_that_cannot_be_read_allow_nobody() -> None:
    assert "front-proxy-client" not in published(allowed_names="[").names
    assert published(allowed_names="[").names
    assert published(allowed_names="[]").names == frozenset()


@given(st.dictionaries(st.sampled_from(sorted(PUBLISHED)), st.text(max_size=20)))
def test_whatever_is_published_is_read_without_an_error(data: dict[str, str]) -> None:
    found = parse_request_headers(data)
    assert found is None or found.authority


def test_log_parameters_are_those_of_a_pod_s_log() -> None:
    asked = parse_log_request({"follow": "true", "tailLines": "5", "sinceSeconds": "60", "index": "3"})
    assert asked == LogRequest(follow=True, tail=5, since=60, index="3")


@pytest.mark.parametrize(
    "query", [{"follow": "maybe"}, {"tailLines": "-1"}, {"index": "x"}, {"sinceSeconds": "9" * 30}]
)
def test_parameters_that_mean_nothing_are_refused(query: dict[str, str]) -> None:
    with pytest.raises(ApiFailure) as refused:
        parse_log_request(query)
    assert (refused.value.code, next(iter(query)) in refused.value.message) == (400, True)


@given(st.lists(st.binary(max_size=12)))
async def test_lines_are_whole_and_nothing_is_lost(chunks: list[bytes]) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    lines = [line async for line in whole_lines(pieces())]
    assert b"".join(lines) == b"".join(chunks)
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines[:-1])


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (
            {
                "containerStatuses": [
                    container(state={"waiting": {"reason": "ErrImagePull", "message": "no such image"}})
                ]
            },
            "container main cannot start: ErrImagePull: no such image",
        ),
        (
            {
                "containerStatuses": [
                    container(
                        restartCount=4,
                        state={"waiting": {"reason": "CrashLoopBackOff"}},
                        lastState={"terminated": {"exitCode": 3, "reason": "Error", "message": "a\nbad input"}},
                    )
                ]
            },
            "container main crashes again and again, 4 times so far; ended with exit code 3: bad input",
        ),
        (
            {"containerStatuses": [container(state={"terminated": {"exitCode": 137, "reason": "OOMKilled"}})]},
            "container main ended with exit code 137 (OOMKilled)",
        ),
        (
            {
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
                ]
            },
            "not on a node: Unschedulable: 0/1 nodes",
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on disk"}, "failed: Evicted: low on disk"),
    ],
)
def test_what_is_wrong_with_a_pod_is_told(status: dict[str, Any], sentence: str) -> None:
    assert troubles([pod(**{"phase": "Pending", **status})], []) == [f"pod train-0: {sentence}"]


def test_a_pod_that_cannot_mount_is_told_by_its_event() -> None:
    event = {"type": "Warning", "reason": "FailedMount", "message": 'secret "x" not found', "object": "Pod/train-0"}
    waiting = container(state={"waiting": {"reason": "ContainerCreating"}})
    found = troubles([pod(phase="Pending", containerStatuses=[waiting])], [event])
    assert found == ['pod train-0: FailedMount: secret "x" not found']


def test_pods_that_cannot_be_created_are_told_of_their_owner() -> None:
    event = {"type": "Warning", "reason": "FailedCreate", "message": "exceeded quota", "object": "Job/train"}
    assert troubles([], [event]) == ["Job/train: FailedCreate: exceeded quota"]


def test_the_last_line_of_a_log_tells_where_no_message_does() -> None:
    crash = pod(phase="Failed", containerStatuses=[container(state={"terminated": {"exitCode": 3, "reason": "Error"}})])
    assert [(each.name, name) for each, name in crashed([crash])] == [("train-0", "main")]
    [sentence] = troubles([crash], [], {("train-0", "main"): "no such file"})
    assert sentence == "pod train-0: container main ended with exit code 3: no such file"


def test_a_failed_index_is_named_and_many_troubles_are_counted() -> None:
    ended = [container(state={"terminated": {"exitCode": 1, "reason": "Error"}})]
    labels = {"batch.kubernetes.io/job-completion-index": "7"}
    pods = [pod(f"train-{number}", labels, phase="Failed", containerStatuses=ended) for number in range(12)]
    found = troubles(pods, [])
    assert found[0] == "pod train-0 (index 7): container main ended with exit code 1"
    assert (len(found), found[-1]) == (11, "2 more like these")
    assert phases(pods) == {"Failed": 12}


def test_runs_are_told_the_latest_first() -> None:
    to = WorkerAssignment("c", 4, "2026-01-01T00:00:00Z", "b", held=(Run("a", 2),))
    assert [(run["cluster"], run["run"]) for run in run_history(to)] == [("c", 4), ("b", 3), ("a", 2)]
    assert run_history(None) == []


def test_kubectl_gets_a_table() -> None:
    metadata = {"name": "job:train", "creationTimestamp": "2026-01-01T00:00:00Z"}
    item = {"metadata": metadata, "status": {"stage": "WaitingForPlacement", "sentence": "Waits."}}
    table = workload_table([item], datetime(2026, 1, 1, 1, tzinfo=UTC))
    assert table["rows"][0]["cells"] == ["job:train", "", 0, "WaitingForPlacement", "60m", "Waits."]
    assert len(table["columnDefinitions"]) == 6


def test_openapi_documents_refer_to_nothing_that_they_lack() -> None:
    for document, schemas in (
        (document_v2(), document_v2()["definitions"]),
        (document_v3(), document_v3()["components"]["schemas"]),
    ):
        referred = {part.split('"')[0].rpartition("/")[2] for part in json.dumps(document).split('"$ref": "')[1:]}
        assert referred <= set(schemas)
        ids = [each["operationId"] for path in document["paths"].values() for each in path.values()]
        assert len(ids) == len(set(ids))


def test_discovery_and_openapi_tell_of_the_same_resources() -> None:
    paths = " ".join(document_v3()["paths"])
    resources: Any = RESOURCES["resources"]
    assert all(each["name"].replace("/", "/{name}/") in paths for each in resources)
