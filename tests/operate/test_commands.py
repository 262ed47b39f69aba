"""`jobrelay install`, `jobrelay worker join`, `leave` and `check`, as people call them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from click.testing import CliRunner, Result

from jobrelay.cli import root
from jobrelay.kube.resource import DEPLOYMENTS, ROLEBINDINGS, ROLES
from tests.relay.fleets import NAMESPACE, Fleet, MakeFleet

from .fleets import join_worker


async def call(*arguments: object) -> Result:
    command = [str(each) for each in arguments]
    return await asyncio.to_thread(CliRunner().invoke, root, command, catch_exceptions=False)


async def join(it: Fleet, *more: str, namespaces: str = "default") -> Result:
    return await call(
        "worker", "join", "worker-1", "--kubeconfig", it.workers["worker-1"].kubeconfig,
        "--management-kubeconfig", it.management.kubeconfig, "--namespaces", namespaces, *more,
    )  # fmt: skip


async def leave(it: Fleet, *more: str) -> Result:
    return await call(
        "worker", "leave", "worker-1", "--management-kubeconfig", it.management.kubeconfig, *more
    )  # fmt: skip


async def check(it: Fleet, *more: str) -> tuple[int, dict[str, dict[str, Any]]]:
    result = await call("worker", "check", *more, "--kubeconfig", it.management.kubeconfig, "-o", "json")
    return result.exit_code, {each["check"]: each for each in json.loads(result.stdout)}


async def test_install_applies_everything(fleet: MakeFleet) -> None:
    async with fleet(0, start=False) as it:
        result = await call("install", "--apply", "--kubeconfig", it.management.kubeconfig)
        assert result.exit_code == 0
        assert result.stderr.splitlines()[-1] == f"management: Deployment jobrelay in namespace {NAMESPACE} created"
        found = (await it.client.get(DEPLOYMENTS, "jobrelay", NAMESPACE)).decode()
        assert found["spec"]["replicas"] == 2
        await it.client.delete(DEPLOYMENTS, "jobrelay", NAMESPACE)


async def test_join_reports_each_step_and_check_finds_no_problem(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        result = await join(it)
        assert (result.exit_code, result.stdout) == (0, "")
        assert "Role" in result.stderr
        assert result.stderr.endswith(
            f"MultiKueueCluster worker-1 and its Secret in namespace {NAMESPACE} registered\n"
        )
        code, found = await check(it)
        assert code == 0
        assert {name for name, each in found.items() if each["result"] == "ok"} == {
            "contact", "clock", "jobs.batch", "logs", "events", "token", "mirror in default", "policy",
        }  # fmt: skip
        assert found["room"]["detail"] == "no permission to list, watch nodes; list, watch pods"


async def test_join_reports_its_steps_as_json(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        reported = json.loads((await join(it, "-o", "json", "--cluster-wide")).stdout)
        assert reported["identity"].startswith("system:serviceaccount:jobrelay-worker:jobrelay-")
        assert reported["steps"][-1]["action"] == "registered"
        assert (await check(it, "worker-1"))[1]["room"]["result"] == "ok"


async def missing(it: Fleet, detail: str) -> dict[str, dict[str, Any]]:
    """Waits until a check shows this for Jobs: a permission ends a moment after it is revoked."""

    async def reported() -> dict[str, dict[str, Any]]:
        code, found = await check(it)
        told = f"{detail}; it gets no Jobs until its role has that; `jobrelay worker join worker-1` writes the role"
        return found if (code, found["jobs.batch"]["detail"]) == (1, told) else {}

    return dict(await it.until(reported))


async def test_check_names_exactly_the_missing_permission(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        asked = await join_worker(it)
        role = (await it.on("worker-1").get(ROLES, asked.identity.name, "team-b")).decode()
        role["rules"][0]["verbs"].remove("patch")
        await it.on("worker-1").update(ROLES, role)
        found = await missing(it, "no permission to patch jobs.batch in namespace team-b")
        assert found["mirror in team-b"]["result"] == "ok"
        await it.on("worker-1").delete(ROLEBINDINGS, asked.identity.name, "team-b")
        found = await missing(
            it, "no permission to create, get, list, watch, patch, delete jobs.batch in namespace team-b"
        )
        assert found["mirror in team-a"]["result"] == "ok"
        assert found["mirror in team-b"]["result"] == "missing"


async def test_the_policy_is_enforced_as_soon_as_a_worker_has_joined(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        await join_worker(it)
        assert (await check(it))[1]["policy"]["detail"] == "only mirrors are admitted, and no privileged pods"


async def test_check_says_when_a_worker_does_not_answer(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        assert (await join(it, "--server", "https://127.0.0.1:1")).exit_code == 0
        code, found = await check(it)
        assert (code, list(found), found["contact"]["result"]) == (1, ["contact"], "missing")


async def test_check_knows_the_administrators_kubeconfig_has_no_token(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        await call("worker", "add", "w", it.workers["worker-1"].kubeconfig, "--kubeconfig", it.management.kubeconfig)
        code, found = await check(it)
        assert (code, found["jobs.batch"]["detail"]) == (0, "in all namespaces")
        assert found["token"]["detail"] == "other credentials, which the relay does not renew"
        assert found["policy"]["detail"] == "the relay's identity may create unmarked Jobs and privileged pods"


async def test_leave_without_the_worker_says_what_is_left(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        await join(it)
        result = await leave(it)
        assert result.exit_code == 2
        assert "error: the worker keeps the identity jobrelay-" in result.stderr
        result = await leave(it, "--kubeconfig", str(it.workers["worker-1"].kubeconfig))
        assert result.exit_code == 0
        assert "worker: ServiceAccount jobrelay-" in result.stderr


async def test_bad_questions_get_a_hint(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        assert "no namespace nowhere" in (await join(it, namespaces="nowhere")).stderr
        assert "is not a valid namespace" in (await join(it, namespaces="A_b")).stderr
        assert "10m or longer" in (await join(it, "--ttl", "60s")).stderr
        incomplete = await call("worker", "join", "w", "--namespaces", "a")
        assert "hint: add --kubeconfig FILE or --context NAME" in incomplete.stderr
