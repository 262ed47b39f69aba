"""TLS for clients: servers are verified as Go's crypto/x509, and so kubectl, verifies them.

Python's defaults differ from Go's in three ways, and differ between Python releases:

- Since Python 3.13 they set VERIFY_X509_STRICT, which refuses certificates without an authority key identifier or with
  a CA that has no key usage. The CAs of many clusters are such, and Go accepts them, so the flag is cleared.
- Go trusts every certificate of `certificate-authority`, also an intermediate CA or the server's own certificate,
  without a chain to a self-signed root. That is VERIFY_X509_PARTIAL_CHAIN, a default only since Python 3.13.
- Go matches host names with subject alternative names only, never with the common name.

Signatures, validity periods, CA constraints, extended key usage and TLS 1.2 as a minimum are checked by both.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from urllib.parse import urlsplit

from .connection import Connection
from .credentials import Certificate
from .errors import ConfigError

__all__ = ["client_ssl_context", "connection_ssl_context"]


def connection_ssl_context(connection: Connection, certificate: Certificate | None) -> ssl.SSLContext | None:
    """The context for a connection; None if its server has no TLS. Raises ConfigError."""
    if urlsplit(connection.server).scheme == "http":
        return None
    try:
        return client_ssl_context(connection.ca, certificate, insecure=connection.insecure)
    except ConfigError as error:
        raise ConfigError(f"{connection.server}: {error}") from error


def client_ssl_context(
    ca: bytes | None = None, certificate: Certificate | None = None, *, insecure: bool = False
) -> ssl.SSLContext:
    """The context of a client that trusts `ca` (PEM; the system's CAs by default) and presents `certificate`."""
    try:  # PEM may have comments around it in any encoding
        context = ssl.create_default_context(cadata=ca.decode("ascii", "ignore") if ca else None)
    except ssl.SSLError as error:
        raise ConfigError(f"the certificate authority is not PEM: {error}") from error
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load(context, certificate)
    return context


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Load a certificate from memory by way of a temporary file, because `ssl` loads only from files."""
    descriptor, path = tempfile.mkstemp(prefix="jobrelay-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate.chain.rstrip() + b"\n" + certificate.key)
        context.load_cert_chain(path)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"the client certificate and key cannot be used: {error}") from error
    finally:
        os.unlink(path)
