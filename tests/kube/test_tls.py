"""Which servers a client trusts: those that Go's crypto/x509 accepts, on every Python."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from jobrelay.kube.credentials import Certificate
from jobrelay.kube.pki import Authority as ClusterAuthority
from jobrelay.kube.pki import make_authority
from jobrelay.kube.tls import client_ssl_context

from .certificates import Authority


def handshake(context: ssl.SSLContext, server: Certificate, folder: Path, name: str = "api") -> None:
    """Connect a client to a server that shows this certificate, both in memory."""
    (folder / "server.pem").write_bytes(server.chain + server.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "server.pem")
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(back, there, server_hostname=name)
    peer = serving.wrap_bio(there, back, server_side=True)
    for side in (client, peer, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


def test_an_authority_without_key_identifiers_is_accepted(tmp_path: Path) -> None:
    authority = Authority()
    handshake(client_ssl_context(authority.pem), authority.issue("api"), tmp_path)


def test_comments_around_an_authority_are_skipped(tmp_path: Path) -> None:
    authority = Authority()
    handshake(client_ssl_context("# Büro\n".encode() + authority.pem), authority.issue("api"), tmp_path)


def test_the_servers_own_certificate_may_be_trusted(tmp_path: Path) -> None:
    server = Authority().issue("api")
    handshake(client_ssl_context(server.chain), server, tmp_path)


def test_another_authority_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(client_ssl_context(Authority().pem), Authority().issue("api"), tmp_path)


def test_a_common_name_is_not_a_host_name(tmp_path: Path) -> None:
    authority = Authority()
    with pytest.raises(ssl.SSLCertVerificationError, match=r"[Hh]ostname mismatch"):
        handshake(client_ssl_context(authority.pem), authority.issue("api", alternative_names=False), tmp_path)


def test_our_own_certificates_pass_the_strictest_check(tmp_path: Path) -> None:
    authority = ClusterAuthority(make_authority("test-ca"))
    context = client_ssl_context(authority.pair.certificate)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    server = authority.server(["api"])
    handshake(context, Certificate(server.certificate, server.key), tmp_path)
