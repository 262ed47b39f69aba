"""What the relay may do about copies: no more than an operator has allowed, on both sides."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kube import Client, Forbidden
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import CONFIGMAPS, JOBS, ROLES, SECRETS, VALIDATINGADMISSIONPOLICIES
from jobrelay.operate.copying import copy_arguments
from jobrelay.operate.identity import IDENTITY, RelayIdentity, identity_manifests
from jobrelay.operate.management import Installation, management_manifests
from jobrelay.relay.copy_rules import CopyRules, parse_rules
from jobrelay.relay.dependencies.copies import COPY
from jobrelay.relay.relay import find_origin
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads.names import ORIGIN
from tests.relay.fleets import MakeFleet, fleet
from tests.relay.test_dependencies import template

from .fleets import TEAMS, as_relay, installed_relay, join_worker, joined, leave_worker, make_namespaces

RULES = parse_rules(["ConfigMap", "Secret:team-a"])


async def _sources(client: Client, namespace: str) -> None:
    await client.create(CONFIGMAPS, {"metadata": {"name": "settings", "namespace": namespace}, "data": {"a": "b"}})
    await client.create(SECRETS, {"metadata": {"name": "token", "namespace": namespace}, "stringData": {"k": "s"}})


async def test_copies_are_made_and_removed_under_these_identities(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it, copies=RULES):
        await make_namespaces(it.client, *TEAMS)
        await _sources(it.client, "team-a")
        async with installed_relay(it, copies=RULES, copy_grace=0.4, keep_finished=0.0):
            await it.submit("train", "team-a", template=template())
            assert (await it.finished("train", "team-a"))["succeeded"] == 1

            async def clean() -> bool:
                there = it.on("worker-1")
                found = [await there.list(each, "team-a", label_selector=COPY) for each in (CONFIGMAPS, SECRETS)]
                return not any(each.items for each in found)

            await it.until(clean)


async def test_without_rights_nothing_is_known_and_nothing_is_held_back(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it):
        await make_namespaces(it.client, *TEAMS)
        async with installed_relay(it) as (relay, _):
            await it.submit("train", "team-a", template=template(seconds=1000))
            await it.until(lambda: _has_mirror(it.on("worker-1")))
            found = relay.explain(WorkloadRef("jobs.batch", Key("team-a", "train")))
            assert found is not None
            assert [dict(each.unchecked) for each in found.dependencies] == [
                {"worker-1": "the relay may not get configmaps"},
                {"worker-1": "the relay may not get secrets"},
            ]


async def _has_mirror(client: Client) -> bool:
    return bool((await client.list(JOBS, "team-a")).items)


async def test_what_its_roles_and_its_policy_keep_from_it(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it, joined(it, copies=RULES):
        origin, there = await find_origin(it.client), it.on("worker-1")
        await _sources(there, "team-a")
        async with as_relay(it) as client:
            marks: dict[str, Any] = {"labels": {ORIGIN: origin, COPY: "true"}}
            await client.create(CONFIGMAPS, {"metadata": {"name": "c", "namespace": "team-a"} | marks})
            await client.delete(CONFIGMAPS, "c", "team-a")
            for labels in ({}, {ORIGIN: origin}, {ORIGIN: "others", COPY: "true"}):
                metadata = {"name": "d", "namespace": "team-a", "labels": labels}
                with pytest.raises(Forbidden):
                    await client.create(CONFIGMAPS, {"metadata": metadata})
            for resource, name in ((CONFIGMAPS, "settings"), (SECRETS, "token")):
                with pytest.raises(Forbidden):
                    await client.delete(resource, name, "team-a")
            with pytest.raises(Forbidden):
                await client.get(SECRETS, "any", "team-b")
            assert await client.get(SECRETS, "token", "team-a")


async def test_joining_again_without_copies_takes_their_rights_away() -> None:
    async with fleet(1, start=False) as it:
        there = it.on("worker-1")
        for rules, policies in ((RULES, 2), (CopyRules(), 1)):
            await join_worker(it, copies=rules)
            found = (await there.list(VALIDATINGADMISSIONPOLICIES, label_selector=IDENTITY)).items
            assert len(found) == policies
        roles = (await there.list(ROLES, label_selector=IDENTITY)).items
        assert not any("configmaps" in str(role.decode()["rules"]) for role in roles)
        await leave_worker(it)
        assert not (await there.list(VALIDATINGADMISSIONPOLICIES, label_selector=IDENTITY)).items


def test_nothing_is_granted_that_is_not_copied() -> None:
    plain = identity_manifests(RelayIdentity("jobrelay-x", "west", ("team-a", "team-b")))
    copying = identity_manifests(RelayIdentity("jobrelay-x", "west", ("team-a", "team-b"), copies=RULES))
    assert "configmaps" not in str(plain)
    secrets = [each["metadata"]["namespace"] for each in copying if each["kind"] == "Role" and "secrets" in str(each)]
    assert secrets == ["team-a"]
    kinds = [each["kind"] for each in copying]
    assert kinds.count("ValidatingAdmissionPolicy") == 2
    assert "ClusterRole" not in kinds


def test_an_installation_reads_what_it_copies_and_is_told_to() -> None:
    made = management_manifests(Installation(copies=RULES))
    roles = {
        each["metadata"].get("namespace", ""): each["rules"]
        for each in made
        if each["metadata"]["name"] == "jobrelay-copies" and "rules" in each
    }
    assert {where: [rule["resources"] for rule in rules] for where, rules in roles.items()} == {
        "": [["configmaps"]],
        "team-a": [["secrets"]],
    }
    assert copy_arguments(RULES) == ["--copy=ConfigMap", "--copy=Secret:team-a"]
    assert str(made[-1]).count("--copy=") == 2
