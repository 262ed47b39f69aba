"""The rights that the guide names are enough for a run, and what is forbidden is said at once."""

from __future__ import annotations

import re

import pytest
import yaml

from jobrelay.conformance import ConformanceRun, Level, RunOptions
from jobrelay.kube import Client, Forbidden
from jobrelay.kube.resource import CLUSTERROLEBINDINGS, CLUSTERROLES
from tests.cli.command import ROOT
from tests.kit.test_tutorial import ImpersonatingTransport
from tests.relay.fleets import AnyCluster

GUIDE = ROOT / "docs" / "guides" / "conformance.md"
USER = "judge"


async def give_rights(client: Client) -> None:
    """Give the user the role of the guide."""
    found = re.search(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    role = yaml.safe_load(found[1])
    name, group = role["metadata"]["name"], "rbac.authorization.k8s.io"
    reference = {"kind": "ClusterRole", "apiGroup": group, "name": name}
    subject = {"kind": "User", "apiGroup": group, "name": USER}
    await client.create(CLUSTERROLES, role)
    await client.create(CLUSTERROLEBINDINGS, {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})


async def take_rights(client: Client) -> None:
    for resource in (CLUSTERROLEBINDINGS, CLUSTERROLES):
        await client.delete(resource, "jobrelay-conformance")


async def test_the_rights_of_the_guide_are_enough(any_cluster: AnyCluster) -> None:
    await give_rights(any_cluster.client())
    client = Client(ImpersonatingTransport(any_cluster.transport(), USER))
    only = frozenset({"plain", "deletion", "pods", "replacement-policy"})
    try:
        report = await ConformanceRun(client, RunOptions(only=only)).run()
    finally:
        await take_rights(any_cluster.client())
    assert [each.outcome(Level.COMPLETE) for each in report.results] == ["passed"] * 4


@pytest.mark.parametrize("namespace", [None, "default"])
async def test_without_rights_a_run_ends_at_once(any_cluster: AnyCluster, namespace: str | None) -> None:
    client = Client(ImpersonatingTransport(any_cluster.transport(), USER))
    with pytest.raises(Forbidden, match="namespaces" if namespace is None else "jobs"):
        await ConformanceRun(client, RunOptions(namespace=namespace, play_pods=False)).run()
