"""Renews the tokens of workers before they expire.

`jobrelay worker join` stores a kubeconfig with a token of limited lifetime in a Secret, and marks that Secret. When
half of the lifetime is over, the leading relay requests the next token from the worker, using the current one, and
writes it into the Secret. The worker's connection picks it up like any rotation: new requests use it, open watches go
on. A worker that cannot be reached is asked again for as long as the old token is valid.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Client, Clock, KubeError, Object, ProtocolError, merge_patch
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import SECRETS
from jobrelay.logs import get_logger
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.names import RENEW
from jobrelay.relay.workers.connection import WorkerConnection
from jobrelay.relay.workers.multikueue import KEY, kubeconfig_in
from jobrelay.relay.workers.tokens import ServiceAccountToken, kubeconfig_with, read_token, request_token, token_in

log = get_logger(__name__)

_INTERVAL = 10.0
_RETRY = 30.0


def due(token: ServiceAccountToken) -> datetime:
    """When a token should be renewed."""
    return token.issued + timedelta(seconds=token.lifetime / 2)


class TokenRenewer:
    """Renews tokens; `secret` finds a worker's Secret on the management cluster that `client` reaches."""

    def __init__(
        self,
        client: Client,
        secret: Callable[[str], Object | None],
        workers: Mapping[str, WorkerConnection],
        metrics: RelayMetrics,
        *,
        clock: Clock,
        writes: Callable[[], bool],
    ) -> None:
        self._client, self._secret, self._workers, self._metrics = client, secret, workers, metrics
        self._clock, self._writes = clock, writes
        self._not_before: dict[str, float] = {}

    async def run(self) -> None:
        """Check all tokens every few seconds, in memory, until cancelled."""
        while True:
            await asyncio.gather(*(self._check(name, worker) for name, worker in list(self._workers.items())))
            await sleep(self._clock, _INTERVAL)

    async def _check(self, name: str, worker: WorkerConnection) -> None:
        secret = self._secret(name)
        if secret is None or secret.metadata.annotations.get(RENEW) != "true":
            return
        try:
            kubeconfig = kubeconfig_in(secret)
        except (ProtocolError, binascii.Error):
            return
        token = read_token(token_in(kubeconfig))
        if token is None or self._clock.now() < due(token):
            return
        if self._clock.monotonic() < self._not_before.get(name, 0.0) or not self._writes():
            return
        self._not_before[name] = self._clock.monotonic() + _RETRY
        try:
            fresh = await request_token(worker.client, token.namespace, token.account, token.lifetime)
            await self._write(secret, kubeconfig_with(kubeconfig, fresh))
        except KubeError as error:
            self._metrics.renewals.labels(name, "error").inc()
            ends = format_time(token.expires)
            log.warning("token of a worker not renewed", worker=name, expires=str(ends), error=str(error))
            return
        self._metrics.renewals.labels(name, "success").inc()
        log.info("token of a worker renewed", worker=name)

    async def _write(self, secret: Object, kubeconfig: bytes) -> None:
        change = {
            "metadata": {"resourceVersion": secret.resource_version},
            "data": {KEY: base64.b64encode(kubeconfig).decode()},
        }
        await self._client.patch(
            SECRETS, secret.name, merge_patch(change), secret.namespace, field_manager="jobrelay-renewal"
        )
