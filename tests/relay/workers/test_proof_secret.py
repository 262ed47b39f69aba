"""The Secret with the keys of proofs: created once, kept, replaced, and what happens without it."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, FakeClock, merge_patch
from jobrelay.kube.resource import SECRETS
from jobrelay.relay.proofs import ProofKeys, parse_keys
from jobrelay.relay.workers.proof_secret import NAME, KeysUnavailable, ProofSecret
from jobrelay.relay.workers.proving import Proofs

from .support import ORIGIN_HERE, advance, running, settle

OTHER = ProofKeys([b"o" * 32])


@asynccontextmanager
async def cluster() -> AsyncIterator[Client]:
    async with Cluster(controllers="none") as made:
        yield made.client()


def data(keys: ProofKeys) -> dict[str, str]:
    return {"keys": b64encode(keys.text().encode()).decode()}


async def stored(client: Client) -> ProofKeys:
    found = (await client.get(SECRETS, NAME, "default")).decode()
    return parse_keys(b64decode(found["data"]["keys"]).decode())


async def store(client: Client, content: dict[str, str]) -> None:
    await client.create(SECRETS, {"metadata": {"name": NAME, "namespace": "default"}, "data": content})


async def test_the_leader_creates_a_key(clock: FakeClock) -> None:
    async with cluster() as client:
        proofs = Proofs(ORIGIN_HERE)
        async with running(ProofSecret(client, "default", proofs, clock=clock).run()):
            await proofs.wait_known()
            assert await stored(client) == proofs.keys


async def test_a_replica_that_does_not_lead_waits_for_the_key(clock: FakeClock) -> None:
    async with cluster() as client:
        proofs = Proofs(ORIGIN_HERE)
        async with running(ProofSecret(client, "default", proofs, clock=clock, writes=lambda: False).run()):
            await settle(clock)
            assert not proofs.keys
            await store(client, data(OTHER))
            await advance(clock, 2)
            assert proofs.keys == OTHER


async def test_of_two_that_create_a_key_both_use_the_same(clock: FakeClock) -> None:
    async with cluster() as client:
        one, two = Proofs(ORIGIN_HERE), Proofs(ORIGIN_HERE)
        secrets = [ProofSecret(client, "default", proofs, clock=clock) for proofs in (one, two)]
        async with running(*(secret.run() for secret in secrets)):
            await asyncio.gather(one.wait_known(), two.wait_known())
            assert one.keys == two.keys == await stored(client)


async def test_a_deleted_secret_is_written_again_with_the_same_keys(clock: FakeClock) -> None:
    async with cluster() as client:
        proofs = Proofs(ORIGIN_HERE)
        async with running(ProofSecret(client, "default", proofs, clock=clock).run()):
            await proofs.wait_known()
            keys = proofs.keys
            await client.delete(SECRETS, NAME, "default")
            await advance(clock, 31)
            assert await stored(client) == proofs.keys == keys


async def test_other_keys_in_the_secret_are_used(clock: FakeClock) -> None:
    async with cluster() as client:
        proofs, changes = Proofs(ORIGIN_HERE), []
        async with running(ProofSecret(client, "default", proofs, clock=clock).run()):
            await proofs.wait_known()
            proofs.subscribe(lambda: changes.append(proofs.keys))
            await client.patch(SECRETS, NAME, merge_patch({"data": data(OTHER)}), "default")
            await advance(clock, 61)
            assert changes == [OTHER]


async def test_keys_in_memory_outlive_a_secret_that_became_invalid(clock: FakeClock) -> None:
    async with cluster() as client:
        proofs = Proofs(ORIGIN_HERE)
        async with running(ProofSecret(client, "default", proofs, clock=clock).run()):
            await proofs.wait_known()
            keys = proofs.keys
            await client.patch(SECRETS, NAME, merge_patch({"data": {"keys": None}}), "default")
            await advance(clock, 31)
            assert proofs.keys == keys


@pytest.mark.parametrize("content", [{}, {"keys": ""}, {"keys": b64encode(b"\xff").decode()}])
async def test_an_invalid_secret_is_not_overwritten_but_ends_the_relay(
    clock: FakeClock, content: dict[str, str]
) -> None:
    async with cluster() as client:
        await store(client, content)
        with pytest.raises(KeysUnavailable, match=r"default/jobrelay-proof cannot be used: .*\nhint: restore it"):
            await ProofSecret(client, "default", Proofs(ORIGIN_HERE), clock=clock).run()


async def test_without_permission_the_error_says_which_to_grant(clock: FakeClock) -> None:
    async with Cluster(controllers="none") as made:
        client = Client(made.transport("nobody", ["system:authenticated"]))
        with pytest.raises(KeysUnavailable, match="hint: grant the relay the verbs get, patch and create on Secret"):
            await ProofSecret(client, "default", Proofs(ORIGIN_HERE), clock=clock).run()
