"""Tokens of workers, renewed before they end.

`jobrelay worker join` leaves a kubeconfig with a token of limited life in a Secret, and marks that Secret. When half of a
token's life is over the leading relay asks the worker for the next one, by the token it has, and writes it into the Secret. The
link to the worker takes the new one up as it does any rotation: new requests use it, open watches go on. A worker that cannot be
asked is asked again and again, for as long as the old token lasts.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Client, Clock, KubeError, Object, ProtocolError, merge_patch
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import SECRETS
from jobrelay.relay.names import RENEW
from jobrelay.relay.workers.objects import KEY
from jobrelay.relay.workers.tokens import Token, kubeconfig_with, read_token, request_token, token_in

if TYPE_CHECKING:
    from jobrelay.relay.metrics import Metrics
    from jobrelay.relay.workers.link import WorkerLink

__all__ = ["Renewal", "due"]

log = logging.getLogger(__name__)

_LOOK_EVERY = 10.0
_AGAIN = 30.0


class _Secret(msgspec.Struct):
    data: dict[str, str] = {}


def due(token: Token) -> datetime:
    """When a token is to be renewed."""
    return token.issued + timedelta(seconds=token.life / 2)


class Renewal:
    """Renews tokens; `secret` finds a worker's Secret on the management cluster that `client` reaches."""

    def __init__(
        self,
        client: Client,
        secret: Callable[[str], Object | None],
        links: Mapping[str, WorkerLink],
        metrics: Metrics,
        *,
        clock: Clock,
        writes: Callable[[], bool],
    ) -> None:
        self._client, self._secret, self._links, self._metrics = client, secret, links, metrics
        self._clock, self._writes = clock, writes
        self._not_before: dict[str, float] = {}

    async def run(self) -> None:
        """Look at all tokens every few seconds, in memory, until cancelled."""
        while True:
            await asyncio.gather(*(self._look(name, link) for name, link in list(self._links.items())))
            await sleep(self._clock, _LOOK_EVERY)

    async def _look(self, name: str, link: WorkerLink) -> None:
        secret = self._secret(name)
        if secret is None or secret.metadata.annotations.get(RENEW) != "true":
            return
        kubeconfig = _kubeconfig(secret)
        token = read_token(token_in(kubeconfig))
        if token is None or self._clock.now() < due(token):
            return
        if self._clock.monotonic() < self._not_before.get(name, 0.0) or not self._writes():
            return
        self._not_before[name] = self._clock.monotonic() + _AGAIN
        try:
            fresh = await request_token(link.client, token.namespace, token.account, token.life)
            await self._write(secret, kubeconfig_with(kubeconfig, fresh))
        except KubeError as error:
            self._metrics.renewals.labels(name, "error").inc()
            ends = format_time(token.expires)
            log.warning("the token of worker %s, which ends at %s, was not renewed: %s", name, ends, error)
            return
        self._metrics.renewals.labels(name, "success").inc()
        log.info("the token of worker %s was renewed", name)

    async def _write(self, secret: Object, kubeconfig: bytes) -> None:
        change = {
            "metadata": {"resourceVersion": secret.resource_version},
            "data": {KEY: base64.b64encode(kubeconfig).decode()},
        }
        await self._client.patch(
            SECRETS, secret.name, merge_patch(change), secret.namespace, field_manager="jobrelay-renewal"
        )


def _kubeconfig(secret: Object) -> bytes:
    try:
        return base64.b64decode(secret.decode(_Secret).data.get(KEY, ""), validate=True)
    except (ProtocolError, binascii.Error):
        return b""
