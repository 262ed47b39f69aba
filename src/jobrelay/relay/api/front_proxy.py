"""TLS of the API, and whether a connection is one of the API server's front proxy.

The front proxy is known by its client certificate. Its authority is published in a ConfigMap, which is watched: when it
changes, new handshakes are verified by the new authority alone, and a request over a connection that was verified by
an earlier one is refused, so that the proxy connects again. Sessions are not resumed, since a resumed one would carry
a certificate that nobody has verified by the present authority.

The listener's context stays the same; at each handshake it is exchanged for the present one (`sni_callback`, which
OpenSSL calls also for clients that name no server). Callers without a certificate are let in, and have to show a token.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from jobrelay.kube import Cache, Client, Clock, Object
from jobrelay.kube.key_pair import KeyPair
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.logs import get_logger
from jobrelay.relay.api.callers import RequestHeaders, parse_request_headers
from jobrelay.relay.api.names import FRONT_PROXY

log = get_logger(__name__)

_NAMESPACE: Final = "kube-system"


class _Data(msgspec.Struct):
    data: dict[str, str] | None = None


class FrontProxy:
    """Follows what is published about the front proxy, by `published`, a cache that somebody runs."""

    def __init__(self, client: Client, pair: KeyPair, *, clock: Clock) -> None:
        self.published = Cache(
            client, CONFIGMAPS, _NAMESPACE, clock=clock, field_selector=f"metadata.name={FRONT_PROXY}"
        )
        self._pair = pair
        self.headers: RequestHeaders | None = None
        self._present = server_context(pair)
        self.listening = server_context(pair)
        """The context of the listener."""
        self.listening.sni_callback = self._exchange
        self.published.subscribe(self._changed)

    def _exchange(self, connection: ssl.SSLObject, host: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._present

    def _changed(self, old: Object | None, new: Object | None) -> None:
        """Apply what is published now; no front proxy is trusted while that is nothing, or cannot be used."""
        found = parse_request_headers((new.decode(_Data).data if new is not None else None) or {})
        if found == self.headers:
            return
        self.headers, self._present = None, server_context(self._pair)
        if found is None:
            log.warning("no front proxy is published; only tokens are accepted", config_map=FRONT_PROXY)
            return
        try:
            self._present = server_context(self._pair, found.authority)
        except ssl.SSLError as error:
            log.warning("the front proxy's authority cannot be read; only tokens are accepted", error=str(error))
            return
        self.headers = found

    def vouches(self, connection: ssl.SSLObject | None) -> bool:
        """Whether a connection is the front proxy's: verified by the present authority, with a name that it allows."""
        if connection is None or self.headers is None or connection.context is not self._present:
            return False
        certificate = connection.getpeercert()
        return bool(certificate) and (not self.headers.names or _common_name(certificate or {}) in self.headers.names)

    def outdated(self, connection: ssl.SSLObject | None) -> bool:
        """Whether a connection was verified by an earlier authority."""
        return connection is not None and connection.context is not self._present


def _common_name(certificate: Mapping[str, Any]) -> str:
    subject = (pair for part in certificate.get("subject", ()) for pair in part)
    return next((str(value) for name, value in subject if name == "commonName"), "")


def server_context(pair: KeyPair, authority: str = "") -> ssl.SSLContext:
    """A server that asks for certificates of this authority; raises SSLError if that is not PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if authority:
        context.load_verify_locations(cadata=authority)
    descriptor, path = tempfile.mkstemp(prefix="jobrelay-", suffix=".pem")
    try:  # `ssl` loads keys from files only
        with os.fdopen(descriptor, "wb") as file:
            file.write(pair.certificate + pair.key)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)
    return context
