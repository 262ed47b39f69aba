"""`get`, `get -w`, `logs` and `explain` for kinds that only a description says anything about."""

from __future__ import annotations

import asyncio
import json
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from jobrelay.cli import root
from jobrelay.cli.listing import Listing
from jobrelay.cli.management import Management
from jobrelay.cli.watch import WorkloadWatch
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Object, merge_patch
from jobrelay.kube.resource import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS, PODS
from jobrelay.workloads import JobAdapter
from jobrelay.workloads.declared import DeclaredAdapter, decode_description
from jobrelay.workloads.kind_files import KIND_FILE
from tests.relay.fleets import NAMESPACE, Fleet
from tests.relay.fleets import fleet as embedded_fleet
from tests.relay.kinds.renders import DONE, RENDERS, STARTED, definition, render

from .fleets import answering_fleet, call

DESCRIBED = """\
apiVersion: jobrelay.dev/v1alpha1
kind: WorkloadKind
resource: {group: film.example.com, version: v1, plural: renders, kind: Render}
pods: {owner: film.example.com/uid}
status:
  started: {path: status.startedAt}
  startedAt: status.startedAt
  succeeded: {path: status.phase, in: [Done]}
"""
ADAPTER = DeclaredAdapter(decode_description(DESCRIBED, "render.yaml"))


@asynccontextmanager
async def rendering(*, described: bool = True) -> AsyncIterator[Fleet]:
    """A Render runs on worker-1, the only worker that serves its kind; a ConfigMap describes it, if it is told so."""

    @asynccontextmanager
    async def make(**how: Any) -> AsyncIterator[Fleet]:
        async with embedded_fleet(start=False, **how) as it:
            it.adapters = (JobAdapter(), ADAPTER)
            await it.start()
            yield it

    nodes = NodeSettings(runtime="scripted")
    async with answering_fleet(make, registered=True, nodes=nodes) as it:  # type: ignore[arg-type]
        for client in (it.client, it.on("worker-1")):
            await client.create(CUSTOMRESOURCEDEFINITIONS, definition())
        if described:
            metadata = {"name": "render", "namespace": NAMESPACE, "labels": {KIND_FILE: "true"}}
            await it.client.create(CONFIGMAPS, {"metadata": metadata, "data": {"render.yaml": DESCRIBED}})
        await it.client.create(RENDERS, render())
        await mirror(it)
        await status(it, STARTED)
        yield it


async def mirror(it: Fleet) -> Object:
    async def found() -> list[Object]:
        return list((await it.on("worker-1").list(RENDERS, "default")).items)

    return (await it.until(found))[0]


async def status(it: Fleet, wanted: dict[str, Any]) -> None:
    """The worker's controller writes a status, and the relay returns it."""
    patch = merge_patch({"status": wanted})
    await it.on("worker-1").patch(RENDERS, "trailer", patch, "default", subresource="status")

    async def returned() -> bool:
        found = (await it.client.get(RENDERS, "trailer", "default")).decode()
        return bool(found.get("status", {}).get("phase") == wanted["phase"])

    await it.until(returned)


async def pod(it: Fleet, name: str, owner: str, *containers: str) -> None:
    """A pod on the worker that has run; its log is the name of its owner."""
    notes = {"jobrelay.dev/log": f"frames of {name}\n", "jobrelay.dev/run-seconds": "0"}
    spec = {"restartPolicy": "Never", "containers": [{"name": each, "image": "i"} for each in containers]}
    metadata = {"name": name, "labels": {"film.example.com/uid": owner}, "annotations": notes}
    await it.on("worker-1").create(PODS, {"metadata": metadata, "spec": spec}, "default")

    async def ended() -> bool:
        found = (await it.on("worker-1").get(PODS, name, "default")).decode()
        return bool(found["status"]["phase"] == "Succeeded")

    await it.until(ended)


async def test_get_shows_one_kind_or_one_object() -> None:
    async with rendering() as it:
        await it.submit()
        for what in ("renders", "render", "renders.film.example.com", "render/trailer"):
            head, row = (await call(it, "get", what)).stdout.splitlines()
            assert head.split()[:2] == ["KIND", "NAME"]
            assert row.split()[:5] == ["Render", "trailer", "worker-1", "1", "Running"]
        one = json.loads((await call(it, "get", "render/trailer", "-o", "json")).stdout)
        assert (one["name"], one["cluster"]) == ("trailer", "worker-1")
        assert (await call(it, "get", "job/train")).stdout.splitlines()[0].split()[4] == "COMPLETIONS"


async def test_get_says_what_it_cannot_show() -> None:
    async with rendering() as it:
        unknown = await call(it, "get", "films")
        assert unknown.stderr.startswith("error: 'films' is not a kind that can be delegated; these can: appwrapper, ")
        unserved = await call(it, "get", "rayjobs")
        assert "error: the management cluster does not serve rayjobs.ray.io/v1" in unserved.stderr
        absent = await call(it, "get", "render/teaser")
        assert "error: Render default/teaser does not exist" in absent.stderr
        await it.client.create(RENDERS, render("local", managed_by=None))
        local = await call(it, "get", "render/local")
        assert "error: Render default/local is not delegated to the relay" in local.stderr
        assert [each.exit_code for each in (unknown, unserved, absent, local)] == [2, 2, 2, 2]


@pytest.mark.parametrize("name", ["", "trailer"])
async def test_every_kind_can_be_watched(capsys: pytest.CaptureFixture[str], name: str) -> None:
    async with rendering() as it:
        await it.client.create(RENDERS, render("teaser"))
        listing = Listing((ADAPTER,) if name else (JobAdapter(), ADAPTER), "default", name)
        columns = ["kind", "name", "status"]
        watch = WorkloadWatch(it.client, Management(it.management.kubeconfig), listing, "table", columns)
        following = asyncio.create_task(watch.run())
        await status(it, DONE)
        shown = ""
        while "Complete" not in shown:
            await asyncio.sleep(0.02)
            assert not following.done()
            shown += capsys.readouterr().out
        following.cancel()
        await asyncio.wait({following})
    head, *lines = shown.splitlines()
    assert head.split() == ["KIND", "NAME", "STATUS"]
    assert ["Render", "trailer", "Complete"] in [line.split() for line in lines]
    assert ("teaser" in shown) is not bool(name)


async def test_logs_are_those_of_the_pods_that_the_kind_names() -> None:
    async with rendering() as it:
        early = await call(it, "logs", "render/trailer", "--pod-running-timeout", "0s")
        assert "error: no pod of Render default/trailer has started on worker worker-1" in early.stderr
        owner = (await mirror(it)).uid
        await pod(it, "a", owner, "render")
        await pod(it, "b", owner, "render", "encode")
        await pod(it, "other", "another-uid", "render")
        assert (await call(it, "logs", "render/trailer")).stdout == "frames of a\nframes of b\nframes of b\n"
        prefixed = await call(it, "logs", "render/trailer", "--prefix", "-c", "encode")
        assert prefixed.stdout == "[b/encode] frames of b\n"
        nowhere = await call(it, "logs", "render/trailer", "-c", "sound")
        assert "error: no pod of Render default/trailer has a container sound" in nowhere.stderr


async def test_logs_are_followed_until_the_workload_ends() -> None:
    async with rendering() as it:
        owner = (await mirror(it)).uid
        await pod(it, "a", owner, "render")
        following = asyncio.create_task(call(it, "logs", "render/trailer", "-f"))
        await pod(it, "b", owner, "render")
        await status(it, DONE)
        assert sorted((await following).stdout.splitlines()) == ["frames of a", "frames of b"]


async def test_a_kind_in_a_file_is_known_where_the_file_is_given(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "render.yaml"
    file.write_text(DESCRIBED)
    async with rendering(described=False) as it:
        for command in (["explain", "render/trailer"], ["get", "render/trailer"], ["logs", "render/trailer"]):
            assert "'render' is not a kind that can be delegated" in (await call(it, *command)).stderr
        shown = (await call(it, "explain", "render/trailer", "--kind-file", str(file))).stdout
        assert shown.startswith("It has been running on worker-1 since ")
        assert "  fenced    no: no worker stops a Render by itself: if its worker is lost, " in shown


def test_a_file_that_is_no_description_is_an_error(tmp_path: pathlib.Path) -> None:
    result = CliRunner().invoke(root, ["get", "--kind-file", str(tmp_path / "none.yaml")])
    assert (result.exit_code, "none.yaml: No such file or directory" in result.output) == (2, True)
