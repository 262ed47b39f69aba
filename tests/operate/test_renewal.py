"""Tokens of workers: read, renewed in time, and nothing lost by it."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from jobrelay.kube import FakeClock, merge_patch
from jobrelay.kube.resource import ROLEBINDINGS, SECRETS
from jobrelay.operate.identity import HOME
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.names import RENEW
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.workers import ObjectSource
from jobrelay.relay.workers.token_renewal import TokenRenewer, due
from jobrelay.relay.workers.tokens import ServiceAccountToken, kubeconfig_with, read_token, token_in
from tests.relay.fleets import NAMESPACE, MakeFleet
from tests.relay.fleets import fleet as embedded_fleet

from .fleets import TEAMS, installed_relay, joined, make_namespaces, worker_kubeconfig

ISSUED = datetime(2026, 1, 1, 12, tzinfo=UTC)


def _jwt(**claims: object) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims)]
    return ".".join([*parts, "signature"])


def test_a_token_says_whose_it_is_and_when_it_ends() -> None:
    at = ISSUED.timestamp()
    text = _jwt(iat=at, exp=at + 600, **{"kubernetes.io": {"namespace": "n", "serviceaccount": {"name": "s"}}})
    assert read_token(text) == ServiceAccountToken("n", "s", ISSUED, ISSUED + timedelta(minutes=10))


@pytest.mark.parametrize("text", ["", "opaque", "a.b.c", "a.!.c", _jwt(iat=1), _jwt(iat=1, exp=1e300)])
def test_other_tokens_are_left_alone(text: str) -> None:
    assert read_token(text) is None


def test_a_token_is_due_before_two_thirds_of_its_life_are_over() -> None:
    token = ServiceAccountToken("n", "s", ISSUED, ISSUED + timedelta(hours=24))
    assert ISSUED < due(token) < ISSUED + timedelta(hours=16)


def test_only_the_token_of_the_current_user_is_exchanged() -> None:
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "us"}}],
        "users": [{"name": "they", "user": {"token": "theirs"}}, {"name": "us", "user": {"token": "old"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://c"}}],
    }
    renewed = kubeconfig_with(json.dumps(config).encode(), "new")
    assert token_in(renewed) == "new"
    config["users"][1]["user"] = {"token": "new"}  # type: ignore[index]
    assert json.loads(renewed) == config


@pytest.mark.parametrize("text", [b"", b"- a", b"current-context: x", b"{", b"contexts: 1\nusers: 2"])
def test_a_kubeconfig_without_a_user_has_no_token(text: bytes) -> None:
    assert token_in(text) == ""


def _renewal(relay: RelayManager, source: ObjectSource, clock: FakeClock, metrics: RelayMetrics) -> TokenRenewer:
    client = relay.registry._client
    return TokenRenewer(client, source.secret, relay.registry.workers, metrics, clock=clock, writes=lambda: True)


def _renewed(metrics: RelayMetrics, worker: str = "worker-1", result: str = "success") -> float:
    return (
        metrics.registry.get_sample_value("jobrelay_token_renewals_total", {"worker": worker, "result": result}) or 0.0
    )


async def test_renewal_under_load_loses_nothing(fleet: MakeFleet) -> None:
    """Tokens are renewed all the time while Jobs come and go, each used from the moment it is there."""
    clock, metrics = FakeClock(datetime.now(UTC) + timedelta(hours=2)), RelayMetrics()
    async with fleet(1, start=False) as it, joined(it, ttl=3600.0):
        await make_namespaces(it.client, *TEAMS)
        async with installed_relay(it) as (relay, source):
            first = await worker_kubeconfig(it)
            running = asyncio.create_task(_renewal(relay, source, clock, metrics).run())
            for number in range(30):
                await it.submit(f"job-{number}", TEAMS[number % 2])
                await clock.advance(31)
                await asyncio.sleep(0.05)
            for number in range(30):
                assert (await it.finished(f"job-{number}", TEAMS[number % 2]))["succeeded"] == 1
            running.cancel()
            await asyncio.wait({running})
            assert _renewed(metrics) >= 3
            assert await worker_kubeconfig(it) != first
            assert not _counted(relay, "jobrelay_worker_losses_total")
            assert not _counted(relay, "jobrelay_redispatches_total")


def _counted(relay: RelayManager, name: str) -> float:
    return relay.metrics.registry.get_sample_value(name, {"worker": "worker-1"}) or 0.0


async def test_a_secret_that_join_did_not_mark_is_left_alone() -> None:
    clock, metrics = FakeClock(datetime.now(UTC) + timedelta(hours=2)), RelayMetrics()
    async with embedded_fleet(1, start=False) as it, joined(it, ttl=3600.0):
        unmarked = merge_patch({"metadata": {"annotations": {RENEW: None}}})
        await it.client.patch(SECRETS, "worker-1", unmarked, NAMESPACE)
        async with installed_relay(it) as (relay, source):
            before = await worker_kubeconfig(it)
            await _renewal(relay, source, clock, metrics)._check("worker-1", relay.registry.workers["worker-1"])
            assert await worker_kubeconfig(it) == before


async def test_a_worker_that_does_not_give_one_is_asked_again_later() -> None:
    clock, metrics = FakeClock(datetime.now(UTC) + timedelta(hours=2)), RelayMetrics()
    async with embedded_fleet(1, start=False) as it, joined(it, ttl=3600.0), installed_relay(it) as (relay, source):
        for obj in (await it.on("worker-1").list(ROLEBINDINGS, HOME)).items:
            await it.on("worker-1").delete(ROLEBINDINGS, obj.name, HOME)
        renewal, link = _renewal(relay, source, clock, metrics), relay.registry.workers["worker-1"]
        for _ in range(3):
            await renewal._check("worker-1", link)
        assert _renewed(metrics, result="error") == 1
        await clock.advance(60)
        await renewal._check("worker-1", link)
        assert _renewed(metrics, result="error") == 2
