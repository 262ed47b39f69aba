"""What a worker says about its own admission."""

from __future__ import annotations

import asyncio

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, FakeClock, Response
from jobrelay.operate.applying import ReportStep, Step, ignore
from jobrelay.operate.joining import _wait_for_policy
from jobrelay.operate.probes import enforces_policies
from tests.kube.scripted import ScriptedTransport, answer, refusal

METRICS = b"""\
# TYPE apiserver_admission_controller_admission_duration_seconds histogram
apiserver_admission_controller_admission_duration_seconds_bucket{name="%(name)s",type="validate",le="0.005"} 4
apiserver_admission_controller_admission_duration_seconds_count{name="%(name)s",operation="CREATE",type="validate"} 4
apiserver_request_total{code="200",resource="validatingadmissionpolicies"} 1
"""
JOB = {"metadata": {"name": "probe", "namespace": "team-a"}}


def server(plugin: bytes) -> Client:
    return Client(ScriptedTransport(Response(200, {}, METRICS % {b"name": plugin})))


async def wait_for_policy(transport: ScriptedTransport, report: ReportStep) -> None:
    clock = FakeClock()
    waiting = asyncio.create_task(_wait_for_policy(Client(transport), "team-a", report, clock))
    await clock.advance(60)
    await waiting


async def test_a_server_that_evaluates_policies_counts_the_calls_of_their_plugin() -> None:
    assert await enforces_policies(server(b"ValidatingAdmissionPolicy"))


async def test_a_server_that_never_calls_the_plugin_does_not_enforce_policies() -> None:
    assert not await enforces_policies(server(b"NamespaceLifecycle"))


async def test_an_embedded_cluster_answers_for_itself() -> None:
    async with Cluster() as cluster:
        assert not await enforces_policies(cluster.client())


async def test_a_server_with_unreadable_metrics_is_assumed_to_enforce_policies() -> None:
    assert await enforces_policies(Client(ScriptedTransport(refusal(403, "Forbidden"))))


async def test_join_waits_until_the_policy_refuses_other_jobs() -> None:
    transport = ScriptedTransport(answer(JOB), answer(JOB), refusal(403, "Forbidden"))
    await wait_for_policy(transport, ignore)
    assert [request.method for request in transport.requests] == ["POST"] * 3


async def test_a_policy_that_takes_no_effect_is_reported() -> None:
    steps: list[Step] = []
    transport = ScriptedTransport(*(answer(JOB) for _ in range(200)))
    await wait_for_policy(transport, steps.append)
    assert [step.action for step in steps] == ["not enforced yet"]
