"""Checks that a PEM certificate and private key belong together, with the errors of Go's TLS library.

A TLS secret with an invalid pair is accepted with this text as a warning.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key

_BLOCK: Final = re.compile(
    rb"(?:\A|\n)-----BEGIN ([^\n-]*)-----[ \t\r]*\n(.*?)\n?-----END \1-----[ \t\r]*(?:\n|\Z)", re.DOTALL
)


def pem_blocks(data: bytes) -> list[tuple[str, bytes]]:
    """The type and content of each well-formed PEM block; anything else is skipped."""
    found: list[tuple[str, bytes]] = []
    for match in _BLOCK.finditer(data.replace(b"\r\n", b"\n").replace(b"-----\n-----BEGIN", b"-----\n\n-----BEGIN")):
        _, _, body = match.group(2).rpartition(b"\n\n")
        try:
            found.append((match.group(1).decode(), base64.b64decode(b"".join(body.split()), validate=True)))
        except (binascii.Error, UnicodeDecodeError):
            continue
    return found


def key_pair_error(certificate: bytes, key: bytes) -> str:
    """What is wrong with the pair, or an empty text."""
    blocks = pem_blocks(certificate)
    certificates = [body for kind, body in blocks if kind == "CERTIFICATE"]
    if not certificates:
        return _no_certificate([kind for kind, _ in blocks])
    skipped: list[str] = []
    for kind, body in pem_blocks(key):
        if kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY"):
            return _match_error(certificates[0], body)
        skipped.append(kind)
    return _no_key(skipped)


def _no_certificate(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key;"
            " PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks'
        f" of the following types: [{' '.join(kinds)}]"
    )


def _no_key(kinds: list[str]) -> str:
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if len(kinds) == 1 and kinds[0] == "CERTIFICATE":
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the'
        f" following types: [{' '.join(kinds)}]"
    )


def _match_error(certificate: bytes, key: bytes) -> str:
    try:
        public = x509.load_der_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    try:
        private: Any = load_der_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    if type(private.public_key()) is not type(public):
        return "tls: private key type does not match public key type"
    own, other = (
        k.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for k in (private.public_key(), public)
    )
    return "" if own == other else "tls: private key does not match public key"
