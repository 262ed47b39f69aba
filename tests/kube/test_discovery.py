from __future__ import annotations

import pytest

from jobrelay.kube import Client, ProtocolError, Resource, Response, server_version, serves
from jobrelay.kube.discovery import served_of
from jobrelay.kube.resource import JOBS, PODS

from .scripted import ScriptedTransport, answer, refusal


async def test_the_version_is_read() -> None:
    version = {"major": "1", "minor": "35", "gitVersion": "v1.35.4", "goVersion": "go1.25"}
    assert (await server_version(Client(ScriptedTransport(answer(version))))).git_version == "v1.35.4"


async def test_a_resource_is_served_when_its_group_lists_it() -> None:
    listed = {"resources": [{"name": "jobs"}, {"name": "jobs/status"}]}
    script = ScriptedTransport(answer(listed), answer(listed))
    client = Client(script)
    assert await serves(client, JOBS)
    assert script.last.path == "/apis/batch/v1"
    assert not await serves(client, PODS)
    assert script.last.path == "/api/v1"


async def test_the_resources_of_a_version_are_read_once() -> None:
    kinds = [Resource("ray.io", "v1", plural, "X") for plural in ("rayjobs", "rayclusters", "rayservices")]
    groups = {"groups": [{"versions": [{"groupVersion": "ray.io/v1"}]}]}
    listed = {"resources": [{"name": "rayjobs"}, {"name": "rayclusters"}]}
    script = ScriptedTransport(answer(groups), answer(listed))
    other = Resource("tekton.dev", "v1", "taskruns", "TaskRun")
    assert await served_of(Client(script), [*kinds, other]) == frozenset(kinds[:2])
    assert [each.path for each in script.requests] == ["/apis", "/apis/ray.io/v1"]


async def test_an_unknown_group_serves_nothing() -> None:
    workloads = Resource("kueue.x-k8s.io", "v1beta1", "workloads", "Workload")
    assert not await serves(Client(ScriptedTransport(refusal(404, "NotFound"))), workloads)


async def test_nonsense_is_a_protocol_error() -> None:
    client = Client(ScriptedTransport(Response(200, {}, b"hello"), Response(200, {}, b"hello")))
    with pytest.raises(ProtocolError):
        await serves(client, JOBS)
    with pytest.raises(ProtocolError):
        await server_version(client)
