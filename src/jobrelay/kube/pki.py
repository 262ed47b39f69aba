"""Certificates that we make: an authority, and certificates of servers and clients that it signs.

The embedded cluster has such authorities of its own, and so has the API that the relay serves. Keys are P-256: made in
a millisecond, accepted by every client.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from .key_pair import KeyPair

__all__ = ["Authority", "make_authority"]

_YEARS = dt.timedelta(days=3650)


def _name(common: str, organizations: Sequence[str] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text) for text in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, issuer: x509.Name, issuer_key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + _YEARS)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(authority, critical=False)
    )


def _pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return KeyPair(certificate.public_bytes(pem), key.private_bytes(pem, form, serialization.NoEncryption()))


def make_authority(common: str) -> KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common)
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = _builder(name, key, name, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    builder = builder.add_extension(usage, critical=True)
    return _pem(builder.sign(key, hashes.SHA256()), key)


class Authority:
    """Signs certificates."""

    def __init__(self, pair: KeyPair) -> None:
        self.pair = pair
        self._certificate = x509.load_pem_x509_certificate(pair.certificate)
        loaded = serialization.load_pem_private_key(pair.key, password=None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        self._key = loaded

    def client(self, common: str, organizations: Sequence[str]) -> KeyPair:
        return self._issue(_name(common, organizations), ExtendedKeyUsageOID.CLIENT_AUTH, ())

    def server(self, hosts: Sequence[str], common: str = "kube-apiserver") -> KeyPair:
        return self._issue(_name(common), ExtendedKeyUsageOID.SERVER_AUTH, hosts)

    def _issue(self, subject: x509.Name, usage: x509.ObjectIdentifier, hosts: Sequence[str]) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, key, self._certificate.subject, self._key)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_host(h) for h in hosts]), critical=False)
        return _pem(builder.sign(self._key, hashes.SHA256()), key)


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
