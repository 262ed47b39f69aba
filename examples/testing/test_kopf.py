"""kopf: an operator runs against the cluster while the test watches what it does.

    python -m pytest examples/testing/test_kopf.py

The operator is in `OPERATOR`, written to a file as an operator of yours would be. It answers each ConfigMap that has
the label `greet` with an annotation.
"""

from __future__ import annotations

import asyncio
import pathlib

import pytest

from jobrelay.kube import Client
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.testing import EmbeddedCluster

testing = pytest.importorskip("kopf.testing", reason="kopf is not installed: pip install kopf")
OPERATOR = """\
import kopf

@kopf.on.create("configmaps", labels={"greet": kopf.PRESENT})
def greet(labels, patch, **_):
    patch.metadata.annotations["example.dev/greeting"] = f"hello, {labels['greet']}"
"""


@pytest.mark.usefixtures("jobrelay_kubeconfig")
def test_the_operator_greets(jobrelay_cluster: EmbeddedCluster, tmp_path: pathlib.Path) -> None:
    operator = tmp_path / "operator.py"
    operator.write_text(OPERATOR)
    namespace = jobrelay_cluster.namespace
    command = ["run", "--standalone", "--namespace", namespace, str(operator)]
    with testing.KopfRunner(command, timeout=120) as runner:
        made = {"metadata": {"name": "a", "labels": {"greet": "ann"}}}
        jobrelay_cluster.call(lambda client: client.create(CONFIGMAPS, made, namespace=namespace))
        assert jobrelay_cluster.call(lambda client: greeting(client, namespace)) == "hello, ann"
    assert runner.exit_code == 0


async def greeting(client: Client, namespace: str) -> str:
    """Waits for the operator's annotation."""
    watch = client.watch(CONFIGMAPS, namespace, send_initial_events=True)
    async with asyncio.timeout(120), watch as events:
        async for event in events:
            annotations = event.object.decode()["metadata"].get("annotations") or {}
            if text := annotations.get("example.dev/greeting"):
                return str(text)
    raise AssertionError("the watch has ended")
