"""That the real clusters are what the suites on them take for granted, and that nothing of them stays behind."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from jobrelay.kube import Client, Connection, Forbidden, find_connection, server_version
from jobrelay.kube.credentials import Credential, StaticCredentials
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import CONFIGMAPS, PODS, SECRETS, SERVICEACCOUNTS
from tests.real.clusters import Planes, programs, reached
from tools.kube import assets

pytestmark = pytest.mark.real
ROOT = pathlib.Path(__file__).resolve().parents[2]


async def test_it_tells_the_release_that_was_asked_for(planes: Planes) -> None:
    async with reached(planes.get(["management"])[0]) as cluster:
        assert (await server_version(cluster.client())).git_version == assets.version()


async def test_service_accounts_have_bound_tokens_and_only_their_rights(planes: Planes) -> None:
    async with reached(planes.get(["management"])[0]) as cluster:
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
        path = SERVICEACCOUNTS.path("default", "default", "token")
        token = json.loads(await cluster.client().call("POST", path, body=json.dumps(asked).encode()))["status"][
            "token"
        ]
        known = find_connection(cluster.kubeconfig)
        async with NetworkTransport(
            Connection(known.server, ca=known.ca, credentials=StaticCredentials(Credential(f"Bearer {token}")))
        ) as transport:
            for resource in (SECRETS, CONFIGMAPS, PODS):
                with pytest.raises(Forbidden, match="system:serviceaccount:default:default"):
                    await Client(transport).list(resource, "default")


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_clusters_end_with_the_process_that_started_them_however_that_ends(
    tmp_path: pathlib.Path, ended_by: signal.Signals
) -> None:
    script = (
        "import pathlib, sys, time\n"
        "from tools.kube.control_plane import ControlPlane\n"
        "plane = ControlPlane('lost', pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
        "plane.begin()\n"
        "print(*plane.pids.values(), flush=True)\n"
        "time.sleep(60)\n"
    )
    line = [sys.executable, "-c", script, str(programs()), str(tmp_path)]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as starter:
        assert starter.stdout is not None
        pids = [int(each) for each in starter.stdout.readline().split()]
        starter.send_signal(ended_by)
    end = time.monotonic() + 20
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert len(pids) == 2


def _runs(pid: int) -> bool:
    """Whether a process is there and not merely unburied."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
