"""The workload kinds that a relay is given in ConfigMaps, which are followed."""

from __future__ import annotations

import asyncio
import pathlib
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from structlog.testing import capture_logs

from jobrelay.cli.relay.kinds import KindSource, changes
from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Resource, connect, find_connection, merge_patch
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS, EVENTS, NAMESPACES
from jobrelay.workloads import Adapter
from jobrelay.workloads.declared import decode_description
from jobrelay.workloads.kind_files import GivenKind
from jobrelay.workloads.names import ASSIGNMENT

from .command import end, ready, run, started
from .test_relay_run import relay

DESCRIBED = """\
apiVersion: jobrelay.dev/v1alpha1
kind: WorkloadKind
resource: {group: film.example.com, version: v1, plural: renders, kind: Render}
status: {succeeded: {path: status.phase, in: [Done]}}
"""
RENDERS = Resource("film.example.com", "v1", "renders", "Render")
LABELS = {"jobrelay.dev/kind-file": "true"}


@asynccontextmanager
async def source(client: Client) -> AsyncIterator[KindSource]:
    found = KindSource(client, "relay", (), "tests")
    following = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        following.cancel()
        await asyncio.wait({following})


@asynccontextmanager
async def management() -> AsyncIterator[Client]:
    async with Cluster("m") as cluster, asyncio.timeout(10):
        client = cluster.client()
        await client.create(NAMESPACES, {"metadata": {"name": "relay"}})
        yield client


async def describe(client: Client, name: str, text: str, labels: dict[str, str] = LABELS) -> None:
    body = {"metadata": {"name": name, "namespace": "relay", "labels": labels}, "data": {"kind.yaml": text}}
    await client.create(CONFIGMAPS, body)


def described(adapters: tuple[Adapter, ...]) -> bool:
    return "renders.film.example.com" in [str(adapter.resource) for adapter in adapters]


async def test_a_labelled_config_map_adds_a_kind_and_its_deletion_removes_it() -> None:
    async with management() as client, source(client) as kinds:
        assert not described(await kinds.adapters())
        await describe(client, "render", DESCRIBED)
        await kinds.changed.wait()
        assert described(await kinds.adapters())
        assert not kinds.changed.is_set()
        await client.delete(CONFIGMAPS, "render", "relay")
        await kinds.changed.wait()
        assert not described(await kinds.adapters())


async def test_other_config_maps_and_changes_that_mean_nothing_are_no_change() -> None:
    async with management() as client, source(client) as kinds:
        await kinds.adapters()
        await describe(client, "render", DESCRIBED)
        await kinds.changed.wait()
        await kinds.adapters()
        await describe(client, "other", DESCRIBED, {})
        await client.patch(CONFIGMAPS, "render", merge_patch({"metadata": {"annotations": {"a": "b"}}}), "relay")
        await client.patch(CONFIGMAPS, "render", merge_patch({"data": {"kind.yaml": DESCRIBED + "\n"}}), "relay")
        await describe(client, "last", DESCRIBED.replace("renders", "films"))
        await kinds.changed.wait()
        assert described(await kinds.adapters())


async def told(client: Client) -> tuple[str, str]:
    """Wait for an event about a ConfigMap; its name, and the note."""
    async with client.watch(EVENTS, "relay") as events:
        async for event in events:
            found = event.object.decode() if event.object is not None else {}
            if found.get("reason") == "KindRejected":
                return found["regarding"]["name"], found["note"]
    raise AssertionError("the watch ended")


async def test_a_broken_description_is_told_and_changes_nothing_for_the_others() -> None:
    async with management() as client:
        await describe(client, "render", DESCRIBED)
        async with source(client) as kinds:
            assert described(await kinds.adapters())
            with capture_logs() as logs:
                await describe(client, "broken", "x: 1")
                name, note = await told(client)
            assert not kinds.changed.is_set()
        assert name == "broken"
        assert note.startswith("a workload kind cannot be used: ConfigMap relay/broken, kind.yaml: ")
        assert note in [entry["event"] for entry in logs if entry["log_level"] == "warning"]


async def test_a_description_that_breaks_is_left_out_and_used_again_when_it_is_mended() -> None:
    async with management() as client, AsyncExitStack() as stack:
        await describe(client, "film", DESCRIBED.replace("renders", "films").replace("Render", "Film"))
        await describe(client, "render", DESCRIBED)
        kinds = await stack.enter_async_context(source(client))
        assert described(await kinds.adapters())
        for text, usable in (("kind: WorkloadKind", False), (DESCRIBED, True)):
            await client.patch(CONFIGMAPS, "render", merge_patch({"data": {"kind.yaml": text}}), "relay")
            await kinds.changed.wait()
            now = await kinds.adapters()
            assert described(now) is usable
            assert "films.film.example.com" in [str(adapter.resource) for adapter in now]


def test_what_was_added_removed_and_changed_is_told_apart() -> None:
    texts = {plural: DESCRIBED.replace("renders", plural) for plural in ("renders", "films", "cuts")}
    given = {name: GivenKind(name, decode_description(text, name)) for name, text in texts.items()}
    other = GivenKind("renders", decode_description(DESCRIBED.replace("[Done]", "[Done, Finished]"), "renders"))
    assert changes([given["renders"], given["films"]], [other, given["cuts"]]) == {
        "added": ["cuts.film.example.com"],
        "removed": ["films.film.example.com"],
        "changed": ["renders.film.example.com"],
    }


async def test_a_config_map_that_cannot_be_used_is_named_and_left_out() -> None:
    async with management() as client:
        await describe(client, "a", DESCRIBED)
        await describe(client, "b", DESCRIBED)
        await describe(client, "c", "kind: WorkloadKind")
        async with source(client) as kinds:
            with capture_logs() as logs:
                assert described(await kinds.adapters())
        told = [entry["event"] for entry in logs if entry["log_level"] == "warning"]
        assert told == [
            "a workload kind cannot be used: ConfigMap relay/c, kind.yaml: missing field `apiVersion`",
            "a workload kind cannot be used: two workload adapters are for renders.film.example.com: "
            "ConfigMap relay/a, kind.yaml and ConfigMap relay/b, kind.yaml",
        ]


async def assigned(client: Client, resource: Resource = RENDERS) -> bool:
    """Wait until the only object of a kind is assigned to a worker."""
    async with client.watch(resource) as events:
        async for event in events:
            if event.object is not None and ASSIGNMENT in event.object.metadata.annotations:
                return True
    return False


async def test_a_relay_that_runs_takes_over_a_kind_that_is_described_later(tmp_path: pathlib.Path) -> None:
    with started("m", "w", "--memory", "--runtime", "scripted", "--dir", tmp_path) as clusters:
        ready(clusters), ready(clusters)
        with relay(tmp_path) as process:
            ready(process)
            connection = find_connection(tmp_path / "m.kubeconfig")
            async with NetworkTransport(connection) as transport, asyncio.timeout(30):
                client = Client(transport)
                for name in ("m", "w"):
                    async with NetworkTransport(find_connection(tmp_path / f"{name}.kubeconfig")) as each:
                        await Client(each).create(CUSTOMRESOURCEDEFINITIONS, definition())
                body = {"metadata": {"name": "x", "namespace": "default"}, "spec": {"managedBy": "jobrelay.dev/relay"}}
                await client.create(RENDERS, body | {"apiVersion": RENDERS.api_version, "kind": RENDERS.kind})
                data = {"kind.yaml": DESCRIBED}
                where = {"name": "render", "namespace": "jobrelay-system", "labels": LABELS}
                await client.create(CONFIGMAPS, {"metadata": where, "data": data})
                assert await assigned(client)
            assert end(process, signal.SIGTERM) == 0


async def test_a_relay_without_options_follows_a_built_in_kind_whose_definition_comes_later(
    tmp_path: pathlib.Path,
) -> None:
    jobsets = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
    with started("m", "w", "--memory", "--runtime", "scripted", "--dir", tmp_path) as clusters:
        ready(clusters), ready(clusters)
        with relay(tmp_path) as process:
            ready(process)
            for name in ("m", "w"):
                assert run("cluster", "crds", "add", "jobset", "-c", name, "--dir", tmp_path).returncode == 0
            async with connect(tmp_path / "m.kubeconfig") as client, asyncio.timeout(30):
                pod = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
                job = {"name": "w", "template": {"spec": {"template": pod}}}
                spec = {"managedBy": "jobrelay.dev/relay", "replicatedJobs": [job]}
                body = {"apiVersion": jobsets.api_version, "kind": jobsets.kind, "spec": spec}
                await client.create(jobsets, body | {"metadata": {"name": "x", "namespace": "default"}})
                assert await assigned(client, jobsets)
            assert end(process, signal.SIGTERM) == 0


def definition() -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"plural": RENDERS.plural, "kind": RENDERS.kind}
    spec = {"group": RENDERS.group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": str(RENDERS)}, "spec": spec}
