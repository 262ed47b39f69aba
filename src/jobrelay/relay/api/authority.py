"""The authority that signs the certificates of relays, in a Secret that all replicas share.

Whichever replica comes first creates it, by server-side apply under a field manager of its own and never by force:
where two try, one gets a conflict and reads what the other wrote. Each replica makes a certificate for itself, whose
key is never written.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from secrets import token_hex
from typing import Final

import msgspec

from jobrelay.kube import Client, ConfigError, Conflict, NotFound
from jobrelay.kube.key_pair import KeyPair
from jobrelay.kube.resource import SECRETS
from jobrelay.logs import get_logger
from jobrelay.relay.api.names import AUTHORITY

log = get_logger(__name__)

_CERTIFICATE: Final = "tls.crt"
_KEY: Final = "tls.key"


class _Data(msgspec.Struct):
    data: dict[str, str] | None = None


async def find_authority(client: Client, namespace: str) -> KeyPair:
    """The authority of a relay's namespace, created if there is none; raises KubeError."""
    try:
        return await _read(client, namespace)
    except NotFound:
        return await _create(client, namespace)


def serving_pair(authority: KeyPair, hosts: Sequence[str]) -> KeyPair:
    """A new certificate for a server of these names; raises ConfigError if the authority cannot be used."""
    from jobrelay.kube.pki import Authority

    try:
        made = Authority(authority).server(hosts, "jobrelay")
    except (ValueError, AssertionError) as error:
        raise ConfigError(f"Secret {AUTHORITY} holds no usable authority: {error}\nhint: delete it") from error
    return KeyPair(made.certificate + authority.certificate, made.key)


async def _read(client: Client, namespace: str) -> KeyPair:
    data = (await client.get(SECRETS, AUTHORITY, namespace)).decode(_Data).data or {}
    try:
        return KeyPair(b64decode(data[_CERTIFICATE]), b64decode(data[_KEY]))
    except (KeyError, Base64Error):
        raise ConfigError(f"Secret {namespace}/{AUTHORITY} holds no certificate\nhint: delete it") from None


async def _create(client: Client, namespace: str) -> KeyPair:
    from jobrelay.kube.pki import make_authority

    made = make_authority("jobrelay-api")
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": AUTHORITY, "namespace": namespace},
        "type": "kubernetes.io/tls",
        "data": {_CERTIFICATE: b64encode(made.certificate).decode(), _KEY: b64encode(made.key).decode()},
    }
    try:
        await client.apply(SECRETS, body, field_manager=f"jobrelay-{token_hex(4)}")
    except Conflict:
        return await _read(client, namespace)
    log.info("created the authority of the API", secret=f"{namespace}/{AUTHORITY}")
    return made
