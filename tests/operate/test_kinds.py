"""Kinds besides Jobs: the rights that roles give for them, and what commands tell of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint

import pytest

from jobrelay.kube import Forbidden, Resource, merge_patch
from jobrelay.kube.resource import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.kinds import relay_adapters
from jobrelay.relay.copy_rules import parse_rules
from jobrelay.workloads import registry
from jobrelay.workloads.kind_files import KIND_FILE
from jobrelay.workloads.names import EPOCH, ORIGIN, ORIGIN_NAME, ORIGIN_UID
from tests.cli.fleets import answering_fleet, call
from tests.cli.test_relay_kinds import DESCRIBED
from tests.operate.fleets import as_relay, installed_relay, join_worker, joined, make_namespaces
from tests.relay.fleets import NAMESPACE, Fleet, MakeFleet
from tests.relay.fleets import fleet as embedded_fleet
from tests.relay.kinds.renders import DONE, RENDERS, definition, render


@pytest.fixture(autouse=True)
def installed_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with an adapter for Renders is installed."""
    point = EntryPoint("render", "tests.relay.kinds.renders:RenderAdapter", registry.GROUP)
    monkeypatch.setattr(registry, "installed", lambda group: (point,) if group == registry.GROUP else ())


async def _define(it: Fleet, *workers: str) -> None:
    for client in (it.client, *map(it.on, workers)):
        await client.create(CUSTOMRESOURCEDEFINITIONS, definition())


@asynccontextmanager
async def defined(it: Fleet, *workers: str) -> AsyncIterator[None]:
    """Renders are served until the end."""
    await _define(it, *workers)
    try:
        yield
    finally:
        for client in (it.client, *map(it.on, workers)):
            await client.delete(CUSTOMRESOURCEDEFINITIONS, str(RENDERS))


def _render(name: str = "trailer", namespace: str = "team-a") -> dict[str, object]:
    made = render(name)
    made["metadata"]["namespace"] = namespace
    return made


@pytest.mark.parametrize("cluster_wide", [False, True])
async def test_a_custom_kind_runs_under_the_identities_that_roles_give(fleet: MakeFleet, cluster_wide: bool) -> None:
    async with fleet(1, start=False) as it, joined(it, cluster_wide=cluster_wide), defined(it, "worker-1"):
        await make_namespaces(it.client, "team-a")
        async with installed_relay(it):
            await it.client.create(RENDERS, _render())

            async def mirrored() -> bool:
                return bool((await it.on("worker-1").list(RENDERS, "team-a")).items)

            await it.until(mirrored)
            patch = merge_patch({"status": DONE})
            await it.on("worker-1").patch(RENDERS, "trailer", patch, "team-a", subresource="status")

            async def finished() -> bool:
                found = (await it.client.get(RENDERS, "trailer", "team-a")).decode()
                return bool(found.get("status", {}).get("phase") == "Done")

            await it.until(finished)


async def test_the_policy_admits_only_marked_objects_of_every_kind(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it), defined(it, "worker-1"), as_relay(it) as client:
        origin = (await join_worker(it)).identity.origin

        async def refused() -> bool:
            try:
                await client.create(RENDERS, _render(), dry_run=True)
            except Forbidden as error:
                return "must have label" in str(error)
            return False

        await it.until(refused)
        marked = render()
        marked["metadata"] |= {
            "namespace": "team-a", "labels": {ORIGIN: origin},
            "annotations": {ORIGIN_UID: "u", ORIGIN_NAME: "trailer", EPOCH: "1"},
        }  # fmt: skip
        await client.create(RENDERS, marked, dry_run=True)


async def test_check_tells_of_a_kind_that_a_worker_does_not_serve() -> None:
    async with embedded_fleet(1, start=False) as it:
        await join_worker(it)
        result = await call(it, "worker", "check", "-o", "json")
        assert str(RENDERS) not in {each["check"] for each in json.loads(result.stdout)}
        await _define(it)
        result = await call(it, "worker", "check", "-o", "json")
        found = {each["check"]: each for each in json.loads(result.stdout)}[str(RENDERS)]
        assert (found["result"], result.exit_code) == ("limited", 0)
        assert found["detail"] == (
            "it does not serve renders.film.example.com/v1, and gets no Renders; "
            "install the CustomResourceDefinition of Renders and their controller there to run them"
        )


async def test_get_and_explain_show_workloads_of_every_kind() -> None:
    async with answering_fleet() as it:
        assert "does not serve renders.film.example.com/v1" in (await call(it, "explain", "render/trailer")).stderr
        await _define(it)
        await it.client.create(RENDERS, _render(namespace="default"))

        async def explained() -> str:
            shown = (await call(it, "explain", "render/trailer")).stdout
            return shown if "worker-1: it does not serve renders.film.example.com/v1" in shown else ""

        shown = str(await it.until(explained))
        assert "  render    default/trailer" in shown
        assert "  fenced    no: no worker stops a Render by itself" in shown
        listed = (await call(it, "get", "workloads")).stdout.splitlines()
        assert listed[0].split() == ["KIND", "NAME", "CLUSTER", "RUN", "STATUS", "AGE", "WHY"]
        assert listed[1].split()[:5] == ["Render", "trailer", "-", "-", "Waiting"]
        assert (await call(it, "get", "workloads", "-o", "name")).stdout == "render/trailer\n"
        workers = (await call(it, "get", "workers")).stdout
        assert "gets no renders: it does not serve renders.film.example.com/v1" in workers


async def test_a_kind_in_a_config_map_of_the_relay_is_granted_by_join_and_checked(fleet: MakeFleet) -> None:
    text = DESCRIBED.replace("renders", "films").replace("Render", "Film")
    films = Resource("film.example.com", "v1", "films", "Film")
    async with fleet(1, start=False) as it:
        await make_namespaces(it.client, NAMESPACE, "team-a")
        metadata = {"name": "film", "namespace": NAMESPACE, "labels": {KIND_FILE: "true"}}
        await it.client.create(CONFIGMAPS, {"metadata": metadata, "data": {"film.yaml": text}})
        for client in (it.client, it.on("worker-1")):
            await client.create(CUSTOMRESOURCEDEFINITIONS, definition(films))
        try:
            await join_worker(it)  # knows nothing of it, as a join before the ConfigMap was there
            found = await checked(it, films)
            assert found["result"] == "limited"
            assert found["detail"] == (
                "no permission to create, get, list, watch, patch, delete films.film.example.com in namespace team-a; "
                "create, get, list, watch, patch, delete films.film.example.com in namespace team-b; it gets no Films "
                "until its role has that; `jobrelay worker join worker-1` writes the role"
            )
            known = await relay_adapters(it.client, NAMESPACE)
            await join_worker(it, kinds=tuple(adapter.resource for adapter in known))

            async def permitted() -> bool:
                return bool((await checked(it, films))["result"] == "ok")

            await it.until(permitted)
        finally:
            for client in (it.client, it.on("worker-1")):
                await client.delete(CUSTOMRESOURCEDEFINITIONS, str(films))
            await it.client.delete(CONFIGMAPS, "film", NAMESPACE)


async def checked(it: Fleet, kind: Resource) -> dict[str, str]:
    found = json.loads((await call(it, "worker", "check", "-o", "json")).stdout)
    return next(each for each in found if each["check"] == str(kind))


async def test_check_says_which_copies_may_not_be_made_and_how_to_allow_them(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it, copies=parse_rules(["ConfigMap"])):
        options = ("--copy", "ConfigMap", "--copy", "Secret:team-a,elsewhere")
        rows = json.loads((await call(it, "worker", "check", "-o", "json", *options)).stdout)
        found = {each["check"]: (each["result"], each["detail"]) for each in rows if "copies" in each["check"]}
        assert found == {
            "copies of configmaps": ("ok", "in namespaces team-a, team-b"),
            "copies of secrets": (
                "limited",
                "no permission to create, get, list, delete secrets in namespace team-a; "
                "`jobrelay worker join worker-1 --copy Secret:team-a` grants it",
            ),
        }


async def test_check_asks_the_relay_what_it_copies() -> None:
    rules = parse_rules(["ConfigMap"])

    @asynccontextmanager
    async def copying(**how: object) -> AsyncIterator[Fleet]:
        async with embedded_fleet(1, copies=rules) as it:
            yield it

    async with answering_fleet(copying, registered=True) as it:  # type: ignore[arg-type]
        rows = json.loads((await call(it, "worker", "check", "-o", "json")).stdout)
        assert [each["result"] for each in rows if each["check"] == "copies of configmaps"] == ["ok"]
