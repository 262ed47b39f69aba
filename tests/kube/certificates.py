"""A certificate authority for TLS tests, without key identifiers and key usage, as the CAs of many clusters are."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from jobrelay.kube.credentials import Certificate


class Authority:
    """Signs certificates; `pem` is what clients must trust."""

    common_name = "test authority"

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(self.common_name)
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.pem = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def issue(self, common_name: str, *, alternative_names: bool = True) -> Certificate:
        """A certificate for 127.0.0.1 and for the name."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(common_name), self._name, key.public_key())
        if alternative_names:
            names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName(common_name)]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        chain = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Certificate(chain, private)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=1))
