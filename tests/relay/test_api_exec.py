"""Commands in pods through the relay's API: who may, by which protocols, and what a worker does not allow."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import yaml

from jobrelay.kube import BadRequest, Connection, Forbidden, NotFound, find_connection
from jobrelay.kube.credentials import Credential, StaticCredentials, bearer
from jobrelay.kube.remote_command import PROTOCOLS, STATUS, STDOUT, exit_code
from jobrelay.kube.resource import CLUSTERROLES, ROLEBINDINGS, SERVICEACCOUNTS
from jobrelay.kube.websocket import open_websocket
from jobrelay.relay.api.names import BASE, service_host
from jobrelay.relay.workers.tokens import request_token
from tests.cli.exec_fleets import exec_fleet, granted, process_fleet, reach, sleeping
from tests.relay.api import ApiFleet, serving_fleet
from tests.relay.fleets import NAMESPACE, Fleet

PATH = f"{BASE}/namespaces/default/workloads/job:train/exec"
ECHO = [("command", "echo"), ("command", "a b"), ("stdout", "true")]


async def way(served: ApiFleet, name: str = "ann", namespace: str = "default", role: str = "edit") -> Connection:
    """How a user with a role in a namespace reaches the management cluster."""
    async with served.user(name, namespace, role):
        token = await served.token(name, namespace, role)
    connection = find_connection(served.it.management.kubeconfig)
    return replace(connection, credentials=StaticCredentials(Credential(bearer(token))))


async def output(
    connection: Connection, query: Any = ECHO, protocols: tuple[str, ...] = PROTOCOLS
) -> tuple[int, bytes]:
    """The exit code and the output of a command."""
    shown = b""
    async with open_websocket(connection, PATH, query, protocols=protocols, largest=1 << 20) as socket:
        async for message in socket:
            if message.data[0] == STATUS:
                return exit_code(message.data[1:]), shown
            assert message.data[0] == STDOUT
            shown += message.data[1:]
    raise AssertionError(shown)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_client_of_each_version_is_served(protocol: str) -> None:
    async with exec_fleet() as served:
        ann = await way(served)
        await sleeping(served.it)
        assert await output(ann, protocols=(protocol,)) == (0, b"a b\n")


async def test_who_calls_the_relay_itself_is_asked_the_same() -> None:
    async with exec_fleet() as served:
        ann, bob = await way(served), await way(served, "bob", "other")
        await sleeping(served.it)
        own = f"https://localhost:{served.serving.port}"
        ca = served.serving.registered.authority
        assert await output(replace(ann, server=own, ca=ca, tls_server_name=service_host(NAMESPACE))) == (0, b"a b\n")
        with pytest.raises(Forbidden, match="workloads/exec"):
            await output(replace(bob, server=own, ca=ca, tls_server_name=service_host(NAMESPACE)))


async def test_to_see_a_workload_is_no_right_to_run_commands_in_it() -> None:
    async with exec_fleet() as served:
        eve = await way(served, "eve", role="view")
        await sleeping(served.it)
        with pytest.raises(Forbidden, match=r"cannot get resource .*workloads/exec"):
            await output(eve)


@pytest.mark.parametrize(
    ("group", "resource", "verbs", "refused"),
    [
        ("relay.jobrelay.dev", "workloads/exec", ["get"], "create resource 'workloads/exec'"),
        ("relay.jobrelay.dev", "workloads/exec", ["get", "create"], "create resource 'pods/exec'"),
    ],
)
async def test_each_right_is_needed(group: str, resource: str, verbs: list[str], refused: str) -> None:
    async with exec_fleet() as served:
        client = served.it.client
        rule = {"apiGroups": [group], "resources": [resource], "verbs": verbs}
        await client.create(CLUSTERROLES, {"metadata": {"name": "part"}, "rules": [rule]})
        eve = await way(served, "eve", role="view")
        await client.create(ROLEBINDINGS, binding("eve", "part"))
        await sleeping(served.it)
        with pytest.raises(Forbidden, match=f"User .*eve.* cannot {refused}"):
            await output(eve)


def binding(name: str, role: str, namespace: str = "default") -> dict[str, Any]:
    return {
        "metadata": {"name": f"{name}-{role}", "namespace": namespace},
        "roleRef": {"apiGroup": CLUSTERROLES.group, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }


async def test_what_cannot_be_done_is_told_before_the_upgrade() -> None:
    async with exec_fleet() as served:
        ann = await way(served)
        await sleeping(served.it)
        with pytest.raises(BadRequest, match="there is no command"):
            await output(ann, [("stdout", "true")])
        with pytest.raises(BadRequest, match="'maybe' is neither true nor false"):
            await output(ann, [*ECHO, ("tty", "maybe")])
        with pytest.raises(BadRequest, match="needs an upgrade to a websocket"):
            await output(ann, protocols=("channel.k8s.io",))
        with pytest.raises(NotFound, match="has no container 'nix'; it has: main"):
            await output(ann, [*ECHO, ("container", "nix")])
        with pytest.raises(NotFound, match="has no pod nix; its pods: train-"):
            await output(ann, [*ECHO, ("pod", "nix")])


async def test_a_worker_that_does_not_let_the_relay_is_named_with_the_remedy(tmp_path: pathlib.Path) -> None:
    @asynccontextmanager
    async def limited(workers: int = 1, **more: Any) -> AsyncIterator[Fleet]:
        async with process_fleet(workers, start=False, **more) as it:
            reach(it, {name: await powerless(it, name, tmp_path) for name in it.workers})
            await it.start()
            yield it

    async with serving_fleet(limited, workers=1) as served:
        await granted(served)
        ann = await way(served)
        await sleeping(served.it)
        remedy = "jobrelay worker join worker-1 --namespaces default --exec"
        with pytest.raises(Forbidden, match=f"worker worker-1 does not let the relay(.|\n)*{remedy}"):
            await output(ann)


async def powerless(it: Fleet, worker: str, folder: pathlib.Path) -> pathlib.Path:
    """The kubeconfig of somebody who may do nothing on a worker."""
    await it.on(worker).create(SERVICEACCOUNTS, {"metadata": {"name": "nobody", "namespace": "default"}})
    token = await request_token(it.on(worker), "default", "nobody", 3600)
    loaded = yaml.safe_load(it.workers[worker].kubeconfig.read_text())
    loaded["users"] = [{"name": user["name"], "user": {"token": token}} for user in loaded["users"]]
    path = folder / f"{worker}.kubeconfig"
    path.write_text(yaml.safe_dump(loaded))
    return path
