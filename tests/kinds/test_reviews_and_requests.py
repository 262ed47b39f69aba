"""Access reviews, token requests, events of both APIs, certificate requests, priority classes, leases."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds.authentication import tokenrequests
from jobrelay.kinds.authorization import reviews
from jobrelay.kinds.certificates import signingrequests
from jobrelay.kinds.context import RequestContext, RequestUser, current
from jobrelay.kinds.coordination import leases
from jobrelay.kinds.core.tlspair import key_pair_error
from jobrelay.kinds.events import events
from jobrelay.kinds.scheduling import priorityclasses

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
KEY = ec.derive_private_key(7, ec.SECP256R1())
NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


def read(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    type_ = type_for_kind(api_version, kind)
    assert type_ is not None
    made: dict[str, Any] = decode(fields, type_)
    return made


@pytest.fixture(autouse=True)
def request_of_alice() -> Iterator[None]:
    token = current.set(RequestContext(NOW, RequestUser("alice", "u1", ("g",), {"k": ("v",)})))
    yield
    current.reset(token)


def test_review_needs_a_subject_and_attributes() -> None:
    review = read("authorization.k8s.io/v1", "SubjectAccessReview", spec={})
    assert [error.text() for error in reviews.subject_access_review_errors(review)] == [
        "spec.resourceAttributes: Invalid value: null:"
        " exactly one of nonResourceAttributes or resourceAttributes must be specified",
        'spec.user: Invalid value: "": at least one of user or group must be specified',
    ]


def test_review_has_no_metadata() -> None:
    spec = {"resourceAttributes": {"verb": "get"}}
    review = read("authorization.k8s.io/v1", "SelfSubjectAccessReview", metadata={"name": "x"}, spec=spec)
    found = [error.text() for error in reviews.self_subject_access_review_errors(review)]
    assert found == ['metadata: Invalid value: {"name":"x"}: must be empty']


def test_local_review_is_about_its_namespace() -> None:
    spec = {"user": "u", "resourceAttributes": {"namespace": "b"}}
    review = read("authorization.k8s.io/v1", "LocalSubjectAccessReview", metadata={"namespace": "a"}, spec=spec)
    found = [error.text() for error in reviews.local_subject_access_review_errors(review)]
    assert found == ['spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace']


def test_token_lives_an_hour_unless_said_otherwise() -> None:
    request = read("authentication.k8s.io/v1", "TokenRequest", spec={})
    tokenrequests.default(request)
    assert request["spec"]["expirationSeconds"] == 3600
    assert tokenrequests.validate(request) == []


def test_token_lives_at_least_ten_minutes() -> None:
    request = read("authentication.k8s.io/v1", "TokenRequest", spec={"expirationSeconds": 5})
    text = "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes"
    assert [error.text() for error in tokenrequests.validate(request)] == [text]


def test_event_survives_the_way_through_the_other_api() -> None:
    event = read(
        "v1", "Event", metadata={"name": "e"}, involvedObject={"kind": "Pod"}, message="m", count=2,
        source={"host": "h"},
    )  # fmt: skip
    other = events.from_core(event)
    assert (other["note"], other["deprecatedCount"], other["regarding"]) == ("m", 2, {"kind": "Pod"})
    assert "reportingController" not in other
    assert events.to_core(other) == event | {"apiVersion": "v1", "kind": "Event"}


def test_new_api_refuses_old_fields_under_their_core_names() -> None:
    event = read(
        "events.k8s.io/v1", "Event", metadata={"name": "e", "namespace": "default"}, type="Normal",
        eventTime="2026-01-01T00:00:00.000000Z", reportingController="a.b/c", reportingInstance="i", action="a",
        reason="r", deprecatedCount=2,
    )  # fmt: skip
    found = [error.text() for error in events.validate(event)]
    assert found == ['count: Invalid value: "": needs to be unset']


def signing_request(**spec: Any) -> dict[str, Any]:
    pem = x509.CertificateSigningRequestBuilder().subject_name(NAME).sign(KEY, hashes.SHA256())
    body = base64.b64encode(pem.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"request": body, "signerName": "example.com/s", "usages": ["any"]} | spec
    metadata = {"name": "r", "resourceVersion": "1"}
    return read("certificates.k8s.io/v1", "CertificateSigningRequest", metadata=metadata, spec=spec)


def test_requester_is_written_by_the_server() -> None:
    request = signing_request(username="root", groups=["system:masters"])
    signingrequests.prepare_create(request)
    spec = request["spec"]
    assert (spec["username"], spec["uid"], spec["groups"], spec["extra"]) == ("alice", "u1", ["g"], {"k": ["v"]})
    assert signingrequests.validate(request) == []


def test_approval_is_timed_and_final() -> None:
    old, new = signing_request(), signing_request()
    new["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
    signingrequests.prepare_approval(new, old)
    assert new["status"]["conditions"][0]["lastUpdateTime"] == "2026-01-02T03:04:05Z"
    assert signingrequests.validate_change(new, old, approving=True) == []
    found = [error.text() for error in signingrequests.validate_change(old, new, approving=True)]
    assert found == ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"']


def test_only_status_issues_a_certificate() -> None:
    old, new = signing_request(), signing_request()
    new["status"] = {"certificate": base64.b64encode(certificate()).decode()}
    assert signingrequests.validate_change(new, old, issuing=True) == []
    found = [error.text() for error in signingrequests.validate_change(new, old)]
    assert found == ["status.certificate: Forbidden: updates may not set certificate content"]


def certificate() -> bytes:
    builder = x509.CertificateBuilder().subject_name(NAME).issuer_name(NAME).public_key(KEY.public_key())
    builder = builder.serial_number(1).not_valid_before(NOW).not_valid_after(NOW + dt.timedelta(days=1))
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def private(key: ec.EllipticCurvePrivateKey) -> bytes:
    formats = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*formats)


def test_key_pair_must_match() -> None:
    assert key_pair_error(certificate(), private(KEY)) == ""
    other = private(ec.derive_private_key(8, ec.SECP256R1()))
    assert key_pair_error(certificate(), other) == "tls: private key does not match public key"
    assert key_pair_error(private(KEY), certificate()).endswith("PEM inputs may have been switched")


def test_system_priority_names_are_reserved() -> None:
    made = read("scheduling.k8s.io/v1", "PriorityClass", metadata={"name": "system-node-critical"}, value=5)
    found = [error.text() for error in priorityclasses.validate(made)]
    assert found[0].endswith("error: value of system-node-critical PriorityClass must be 2000001000")


def test_lease_drops_fields_of_a_feature_that_is_off() -> None:
    lease = read(
        "coordination.k8s.io/v1", "Lease", metadata={"name": "l"}, spec={"strategy": "x", "holderIdentity": "h"}
    )
    leases.drop_coordination(lease)
    assert lease["spec"] == {"holderIdentity": "h"}
