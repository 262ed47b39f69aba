"""The status of ValidatingAdmissionPolicies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobrelay.cluster.controllers.policystatus import PolicyStatusController

from ..apiserver.serving import MERGE, Server

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    yield made
    made.api.watches.close()


def policy(expression: str) -> dict[str, Any]:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]},
    }


async def checked(server: Server, controller: PolicyStatusController) -> dict[str, Any]:
    """The policy after all checks that are under way."""
    while controller._tasks:
        await asyncio.gather(*controller._tasks.values())
        await server.store.settled()
    return await server.ok("GET", f"{POLICIES}/p")


def running(server: Server) -> PolicyStatusController:
    controller = PolicyStatusController(server.services)
    controller.start()
    return controller


async def test_a_policy_is_checked_when_it_is_created(server: Server) -> None:
    controller = running(server)
    await server.ok("POST", POLICIES, policy("object.spec.replicas > 1"))
    found = await checked(server, controller)
    assert found["status"] == {"observedGeneration": 1, "typeChecking": {}}
    managers = {entry["manager"]: entry.get("subresource") for entry in found["metadata"]["managedFields"]}
    assert managers == {"unknown": None, "validatingadmissionpolicy-status": "status"}


async def test_warnings_are_shown_and_go_when_the_policy_is_right(server: Server) -> None:
    controller = running(server)
    await server.ok("POST", POLICIES, policy("object.spec.replicas > '1'"))
    found = await checked(server, controller)
    assert found["status"]["typeChecking"]["expressionWarnings"][0]["fieldRef"] == "spec.validations[0].expression"
    change = {"spec": {"validations": [{"expression": "object.spec.replicas > 1"}]}}
    await server.ok("PATCH", f"{POLICIES}/p", change, media=MERGE)
    assert (await checked(server, controller))["status"] == {"observedGeneration": 2}


async def test_policies_that_were_there_before_are_checked_at_the_start(server: Server) -> None:
    await server.ok("POST", POLICIES, policy("true"))
    assert (await checked(server, running(server)))["status"]["observedGeneration"] == 1


async def test_a_policy_that_is_deleted_meanwhile_is_left_alone(server: Server) -> None:
    controller = running(server)
    await server.ok("POST", POLICIES, policy("true"))
    await server.ok("DELETE", f"{POLICIES}/p")
    await asyncio.gather(*controller._tasks.values())
    assert (await server.call("GET", f"{POLICIES}/p")).code == 404
