"""Why Go refuses a certificate, and which it accepts that OpenSSL does not. Asked only after a handshake has failed.

A certificate with the name of the CA that has issued it, as webhooks on knative.dev/pkg make them, counts as
self-signed for OpenSSL, which does not look for its issuer then. Go goes by the signature.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import ssl
from typing import Final

import aiohttp
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding

from jobrelay.cluster.apiserver.outbound.failures import describe
from jobrelay.cluster.apiserver.outbound.services import ServiceEndpoint
from jobrelay.kube.tls import client_ssl_context

_HOST_MISMATCH: Final = (62, 64)  # OpenSSL's X509_V_ERR_*
_OUT_OF_DATE: Final = (9, 10)
_SELF_SIGNED: Final = 18
_UNKNOWN: Final = "certificate signed by unknown authority"


async def explained(error: BaseException, endpoint: ServiceEndpoint) -> str:
    """Why an endpoint was not reached, or has not answered."""
    wrong = _wrong(error)
    if isinstance(wrong, ssl.CertificateError):
        return f"tls: failed to verify certificate: x509: {await _objection(wrong, endpoint)}"
    return describe(error, str(endpoint))


async def issued_in_its_own_name(error: BaseException, endpoint: ServiceEndpoint, ca: bytes) -> str:
    """The certificate of an endpoint as PEM, if it was refused as self-signed though one of the CAs has issued it."""
    if getattr(_wrong(error), "verify_code", 0) != _SELF_SIGNED or not ca:
        return ""
    certificate = await _certificate_of(endpoint)
    if not any(_has_issued(authority, certificate) for authority in x509.load_pem_x509_certificates(ca)):
        return ""
    return certificate.public_bytes(Encoding.PEM).decode()


def _wrong(error: BaseException) -> BaseException:
    return error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else error


def _has_issued(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
        constraints = authority.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    valid = authority.not_valid_before_utc <= dt.datetime.now(dt.UTC) <= authority.not_valid_after_utc
    return constraints.ca and valid


async def _objection(error: Exception, endpoint: ServiceEndpoint) -> str:
    """What is wrong with the certificate of an endpoint, by the error of the handshake."""
    code = getattr(error, "verify_code", 0)
    if code in _HOST_MISMATCH or code in _OUT_OF_DATE:
        try:
            certificate = await _certificate_of(endpoint)
        except OSError:
            return _UNKNOWN
        return _names(certificate, endpoint.host) if code in _HOST_MISMATCH else _dates(certificate)
    return "certificate specifies an incompatible key usage" if code == 26 else _UNKNOWN


async def _certificate_of(endpoint: ServiceEndpoint) -> x509.Certificate:
    context = client_ssl_context(insecure=True)
    _, writer = await asyncio.open_connection(
        endpoint.address, endpoint.port, ssl=context, server_hostname=endpoint.host
    )
    try:
        connection: ssl.SSLObject = writer.get_extra_info("ssl_object")
        return x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
    finally:
        writer.transport.abort()


def _names(certificate: x509.Certificate, host: str) -> str:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return "certificate relies on legacy Common Name field, use SANs instead"
    if _is_address(host):
        addresses = [str(address) for address in found.get_values_for_type(x509.IPAddress)]
        if not addresses:
            return f"cannot validate certificate for {host} because it doesn't contain any IP SANs"
        return f"certificate is valid for {', '.join(addresses)}, not {host}"
    names = found.get_values_for_type(x509.DNSName)
    if not names:
        return f"certificate is not valid for any names, but wanted to match {host}"
    return f"certificate is valid for {', '.join(names)}, not {host}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _dates(certificate: x509.Certificate) -> str:
    now = dt.datetime.now(dt.UTC)
    if now < certificate.not_valid_before_utc:
        when = f"is before {_time(certificate.not_valid_before_utc)}"
    else:
        when = f"is after {_time(certificate.not_valid_after_utc)}"
    return f"certificate has expired or is not yet valid: current time {_time(now)} {when}"


def _time(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
