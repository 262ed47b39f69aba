"""Whom the API believes: the front proxy by its certificate, direct callers by their tokens, and nobody else."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from jobrelay.kube import merge_patch
from jobrelay.kube.credentials import Certificate
from jobrelay.kube.key_pair import KeyPair
from jobrelay.kube.pki import Authority, make_authority
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.kube.tls import client_ssl_context
from jobrelay.relay.api.names import BASE, FRONT_PROXY
from tests.relay import fleets
from tests.relay.api import ApiFleet, serving_fleet
from tests.relay.fleets import MakeFleet

ADMIN = {"X-Remote-User": "root", "X-Remote-Group": "system:masters"}
LIST = f"{BASE}/namespaces/default/workloads"


@asynccontextmanager
async def direct(served: ApiFleet, pair: KeyPair | None = None) -> AsyncIterator[aiohttp.ClientSession]:
    """Connections to the relay itself, with a certificate or without."""
    certificate = Certificate(pair.certificate, pair.key) if pair is not None else None
    tls = client_ssl_context(served.serving.registered.authority, certificate)
    url = f"https://localhost:{served.serving.port}"
    async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(ssl=tls)) as session:
        yield session


async def status(session: aiohttp.ClientSession, headers: dict[str, str], path: str = LIST) -> int:
    async with session.get(path, headers=headers) as answer:
        await answer.read()
        return answer.status


async def publish(served: ApiFleet, authority: Authority) -> None:
    """Make another authority that of the front proxy, and wait until the relay knows."""
    text = authority.pair.certificate.decode()
    await served.it.client.patch(
        CONFIGMAPS, FRONT_PROXY, merge_patch({"data": {"requestheader-client-ca-file": text}}), "kube-system"
    )

    async def believed() -> bool:
        try:
            async with direct(served, proxy_of(authority)) as session:
                return await status(session, ADMIN) == 200
        except aiohttp.ClientError:
            return False

    await served.it.until(believed)


def new_authority() -> Authority:
    return Authority(make_authority("front-proxy-ca"))


def proxy_of(authority: Authority, name: str = "front-proxy-client") -> KeyPair:
    return authority.client(name, ())


async def test_identity_headers_without_the_front_proxy_s_certificate_are_refused(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, direct(served) as session:
        async with session.get(LIST, headers=ADMIN) as answer:
            found: dict[str, Any] = await answer.json()
            assert (answer.status, found["kind"], found["reason"]) == (401, "Status", "Unauthorized")
        assert await status(session, {}, BASE) == 401
        assert await status(session, {}, "/healthz") == 200


async def test_a_certificate_of_another_authority_is_refused(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, direct(served, proxy_of(new_authority())) as session:
        with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
            await status(session, ADMIN)


async def test_the_front_proxy_s_certificate_must_have_an_allowed_name() -> None:
    async with serving_fleet(fleets.fleet) as served:
        authority = new_authority()
        await publish(served, authority)
        async with direct(served, proxy_of(authority, "kubelet")) as session:
            assert await status(session, ADMIN) == 401


async def test_after_a_change_of_the_authority_the_old_one_is_refused_also_over_open_connections() -> None:
    async with serving_fleet(fleets.fleet) as served:
        old = new_authority()
        await publish(served, old)
        async with direct(served, proxy_of(old)) as session:
            assert await status(session, ADMIN) == 200
            await publish(served, new_authority())
            assert await status(session, ADMIN) == 401
            with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
                await status(session, ADMIN)


async def test_the_front_proxy_s_users_are_asked_about_by_name_and_group() -> None:
    async with serving_fleet(fleets.fleet) as served:
        authority = new_authority()
        await publish(served, authority)
        async with direct(served, proxy_of(authority)) as session:
            assert await status(session, {"X-Remote-User": "nobody"}) == 403
            assert await status(session, {"X-Remote-User": "any", "X-Remote-Group": "system:masters"}) == 200
            assert await status(session, {"X-Remote-Group": "system:masters"}) == 401


async def test_direct_callers_are_known_by_their_tokens(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user(), direct(served) as session:
        token = {"Authorization": f"Bearer {await served.token('ann', 'default')}"}
        assert await status(session, token) == 200
        assert await status(session, token, f"{BASE}/namespaces/kube-system/workloads") == 403
        assert await status(session, token, f"{BASE}/workers") == 403
        assert await status(session, {"Authorization": "Bearer nonsense"}) == 401


async def test_a_token_beside_forged_headers_is_what_counts(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user("bob", "other"), direct(served) as session:
        token = {"Authorization": f"Bearer {await served.token('bob', 'other')}"}
        assert await status(session, {**ADMIN, **token}) == 403
