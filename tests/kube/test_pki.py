"""Certificates that clients and servers accept."""

from __future__ import annotations

import datetime as dt

from cryptography import x509
from cryptography.x509.oid import NameOID

from jobrelay.kube.key_pair import KeyPair
from jobrelay.kube.pki import Authority, make_authority


def parsed(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def test_an_authority_signs_itself_and_may_sign_others() -> None:
    certificate = parsed(make_authority("test-ca"))
    certificate.verify_directly_issued_by(certificate)
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_client_certificate_names_the_user_and_the_groups() -> None:
    pair = make_authority("test-ca")
    certificate = parsed(Authority(pair).client("alice", ["team-a", "team-b"]))
    certificate.verify_directly_issued_by(parsed(pair))
    names = [attribute.value for attribute in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    assert (common, names) == ("alice", ["team-a", "team-b"])


def test_a_server_certificate_is_for_names_and_addresses() -> None:
    certificate = parsed(Authority(make_authority("test-ca")).server(["127.0.0.1", "::1", "localhost"]))
    hosts = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert hosts.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(host) for host in hosts.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_certificates_hold_for_years_and_from_a_little_ago() -> None:
    certificate = parsed(make_authority("test-ca"))
    now = dt.datetime.now(dt.UTC)
    assert certificate.not_valid_before_utc < now < certificate.not_valid_after_utc - dt.timedelta(days=3000)


def test_certificates_name_their_own_key_and_their_issuers() -> None:
    pair = make_authority("test-ca")
    issued = Authority(pair).client("alice", []), Authority(pair).server(["localhost"])
    for certificate in (parsed(pair), *map(parsed, issued)):
        own = x509.SubjectKeyIdentifier.from_public_key(certificate.public_key())
        issuers = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
        assert certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value == own
        assert issuers.key_identifier == x509.SubjectKeyIdentifier.from_public_key(parsed(pair).public_key()).digest
