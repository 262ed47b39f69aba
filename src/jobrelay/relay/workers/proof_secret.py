"""The Secret with the keys of proofs, in the relay's namespace on the management cluster.

Every replica reads it before it reads any worker. The leader creates it if there is none. It does so by server-side
apply, because only that lets a role say which name may be created. Each process applies as another field manager and
never by force, so where two try, the API server accepts the first one, and the other gets a conflict and reads that.

It is read again every half minute:

- If it was deleted, the leader writes it again with the keys that it has in memory, and says so.
- If it has other keys, these are used. Mirrors that were proven already stay so, and get proofs by the first key.
- If it cannot be read, or holds no keys any more, those in memory are used, and a warning says why.

Keys that are lost while no relay runs cannot be had back: a new one is made. Mirrors of the time before then have no
valid proof. They may run, so they are neither deleted nor taken for absent: where such an object has the place of a
mirror, no other run of its original is started, and it says how to mend that. A restored backup of the management
cluster has the same keys.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from random import Random
from secrets import token_bytes
from typing import Final

import msgspec

from jobrelay.kube import Client, Clock, Conflict, Forbidden, KubeError, NotFound
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import SECRETS
from jobrelay.logs import get_logger
from jobrelay.relay.proofs import InvalidKeys, ProofKeys, parse_keys
from jobrelay.relay.workers.proving import Proofs

log = get_logger(__name__)

NAME: Final = "jobrelay-proof"
ENTRY: Final = "keys"
_INTERVAL: Final = 30.0
_KEY_LENGTH: Final = 32
_MARK_LENGTH: Final = 4
_GRANT: Final = f"grant the relay the verbs get, patch and create on Secret {NAME} in namespace"
_MEND: Final = "restore it from a backup, or delete it if no mirrors run"


class KeysUnavailable(KubeError):
    """The keys of proofs cannot be read or created, and trying again would not help."""


class _Data(msgspec.Struct):
    data: dict[str, str] | None = None


class ProofSecret:
    """Gives the keys of the Secret to `proofs`; `writes` says whether this replica may write now.

    `new_key` returns that many random bytes.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        proofs: Proofs,
        *,
        clock: Clock,
        writes: Callable[[], bool] = lambda: True,
        random: Random | None = None,
        new_key: Callable[[int], bytes] = token_bytes,
    ) -> None:
        self._client, self._namespace, self._proofs = client, namespace, proofs
        self._manager = f"jobrelay-{new_key(_MARK_LENGTH).hex()}"
        self._fresh = ProofKeys([new_key(_KEY_LENGTH)])
        """What is written if there never was a key; the same again if the reply was lost."""
        self._clock, self._writes, self._random = clock, writes, random or Random()

    async def run(self) -> None:
        """Read the keys, or create them, and follow the Secret until cancelled; raises KeysUnavailable."""
        await self._load()
        while True:
            await sleep(self._clock, _INTERVAL)
            try:
                await self._refresh()
            except (KubeError, InvalidKeys) as error:
                log.warning("keys of proofs not read; those in memory are used", secret=self._where, error=str(error))

    @property
    def _where(self) -> str:
        return f"{self._namespace}/{NAME}"

    async def _load(self) -> None:
        backoff = Backoff(0.2, 5.0, random=self._random)
        while True:
            try:
                await self._refresh()
            except Forbidden as error:
                raise KeysUnavailable(
                    f"{error}\nhint: {_GRANT} {self._namespace}, as `jobrelay install` does"
                ) from error
            except InvalidKeys as error:
                raise KeysUnavailable(f"Secret {self._where} cannot be used: {error}\nhint: {_MEND}") from error
            except KubeError as error:
                log.warning("keys of proofs not read", secret=self._where, error=str(error))
            if self._proofs.keys:
                return
            await sleep(self._clock, backoff.next())

    async def _refresh(self) -> None:
        """Use what the Secret holds; if there is none, have the leader write it."""
        try:
            keys = await self._read()
        except NotFound:
            if not self._writes():
                return
            keys = await self._write()
        self._proofs.use(keys)

    async def _read(self) -> ProofKeys:
        data = (await self._client.get(SECRETS, NAME, self._namespace)).decode(_Data).data or {}
        try:
            return parse_keys(b64decode(data.get(ENTRY, "")).decode())
        except (Base64Error, UnicodeDecodeError):
            raise InvalidKeys(f"its entry {ENTRY} is not text") from None

    async def _write(self) -> ProofKeys:
        keys = self._proofs.keys or self._fresh
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": NAME, "namespace": self._namespace},
            "type": "Opaque",
            "data": {ENTRY: b64encode(keys.text().encode()).decode()},
        }
        try:
            await self._client.apply(SECRETS, body, field_manager=self._manager)
        except Conflict:
            return await self._read()
        if self._proofs.keys:
            log.warning("the Secret with the keys of proofs was deleted; it is written again", secret=self._where)
        else:
            log.info("created a key for proofs", secret=self._where)
        return keys
