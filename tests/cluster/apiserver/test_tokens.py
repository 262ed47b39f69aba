"""Tokens of service accounts: asked for, used, and no longer accepted."""

from __future__ import annotations

import base64
import datetime as dt
import json

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from .serving import PODS, Obj, Server, pod, signing_key

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ISSUER = "https://kubernetes.default.svc"
LEEWAY = 60


async def issue(server: Server, **spec: object) -> str:
    made = await server.ok("POST", f"{ACCOUNTS}/default/token", {"spec": spec})
    token: str = made["status"]["token"]
    return token


def signed(token: str, **changes: object) -> str:
    """A token with other claims (None: without), signed with the cluster's key."""
    head, body, _ = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "==")) | changes
    claims = {name: value for name, value in claims.items() if value is not None}
    text = f"{head}.{_encoded(json.dumps(claims).encode())}"
    key = serialization.load_pem_private_key(signing_key(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    r, s = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{_encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


async def whoami(server: Server, token: str) -> tuple[int, Obj]:
    headers = {"Authorization": f"Bearer {token}"}
    answer = await server.call(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, user=None, headers=headers
    )
    return answer.code, answer.body["status"]["userInfo"] if answer.code == 201 else answer.body


async def test_a_token_is_for_an_hour_and_for_this_cluster(server: Server) -> None:
    made = await server.ok("POST", f"{ACCOUNTS}/default/token", {})
    assert (made["kind"], made["spec"]["audiences"], made["spec"]["expirationSeconds"]) == (
        "TokenRequest",
        [ISSUER],
        3600,
    )
    assert made["status"]["expirationTimestamp"] == "2026-01-01T13:00:00Z"


async def test_a_token_stands_for_its_account(server: Server) -> None:
    code, user = await whoami(server, await issue(server))
    groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    assert (code, user["username"], user["groups"]) == (201, "system:serviceaccount:default:default", groups)


async def test_a_token_ends(server: Server) -> None:
    token = await issue(server, expirationSeconds=600)
    server.now += dt.timedelta(seconds=600 + LEEWAY)
    assert (await whoami(server, token))[0] == 201
    server.now += dt.timedelta(seconds=1)
    code, status = await whoami(server, token)
    assert (code, status["message"], status["reason"]) == (401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize(
    ("moved", "why"),
    [
        ({"nbf": 60, "iat": 60, "exp": -60}, ""),
        ({"nbf": 61}, "service account token is not valid yet"),
        ({"iat": 61}, "service account token is issued in the future"),
        ({"exp": -61}, "service account token has expired"),
        ({"nbf": None, "iat": None, "exp": None}, ""),
    ],
)
async def test_the_times_of_a_token_count_with_a_leeway(server: Server, moved: dict[str, int | None], why: str) -> None:
    """Claims are moved by seconds from now, or left out; the answers are those of kube-apiserver v1.35.4."""
    now = int(server.now.timestamp())
    times = {name: None if by is None else now + by for name, by in moved.items()}
    token = signed(await issue(server), **times)
    status = (await server.ok("POST", REVIEWS, {"spec": {"token": token}}))["status"]
    assert status.get("error", "") == (f"[invalid bearer token, {why}]" if why else "")
    assert (await whoami(server, token))[0] == (401 if why else 201)


@pytest.mark.parametrize("value", ["1", True, [1]])
async def test_a_time_that_is_no_number_is_refused(server: Server, value: object) -> None:
    token = signed(await issue(server), nbf=value)
    status = (await server.ok("POST", REVIEWS, {"spec": {"token": token}}))["status"]
    assert status["error"].endswith("expected number value to unmarshal NumericDate]")


async def test_a_token_dies_with_its_account(server: Server) -> None:
    token = await issue(server)
    await server.ok("DELETE", f"{ACCOUNTS}/default")
    await server.ok("POST", ACCOUNTS, {"metadata": {"name": "default"}})
    assert (await whoami(server, token))[0] == 401


async def test_a_token_dies_with_the_pod_that_it_is_bound_to(server: Server) -> None:
    made = await server.ok("POST", PODS, pod())
    token = await issue(server, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    _, user = await whoami(server, token)
    assert user["extra"]["authentication.kubernetes.io/pod-uid"] == [made["metadata"]["uid"]]
    await server.ok("DELETE", f"{PODS}/p")
    assert (await whoami(server, token))[0] == 401


async def test_a_token_for_others_is_not_for_the_server(server: Server) -> None:
    token = await issue(server, audiences=["vault"])
    assert (await whoami(server, token))[0] == 401
    review = await server.ok("POST", REVIEWS, {"spec": {"token": token, "audiences": ["vault", "other"]}})
    assert (review["status"]["authenticated"], review["status"]["audiences"]) == (True, ["vault"])


async def test_a_review_tells_why_a_token_is_not_accepted(server: Server) -> None:
    token = await issue(server, audiences=["vault"])
    status = (await server.ok("POST", REVIEWS, {"spec": {"token": token}}))["status"]
    why = f'[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["{ISSUER}"]]'
    assert status == {"user": {}, "error": why}


async def test_a_changed_token_is_worth_nothing(server: Server) -> None:
    head, body, signature = (await issue(server)).split(".")
    for token in (f"{head}.{body[:-4]}AAAA.{signature}", f"{head}.{body}.", "x", "a.b.c", f"{head}.{body}.{'é' * 8}"):
        assert (await whoami(server, token))[0] == 401


async def test_requests_for_tokens_are_checked(server: Server) -> None:
    short = await server.call("POST", f"{ACCOUNTS}/default/token", {"spec": {"expirationSeconds": 5}})
    assert (short.code, "may not specify a duration less than 10 minutes" in short.message) == (422, True)
    missing = await server.call("POST", f"{ACCOUNTS}/none/token", {})
    assert (missing.code, missing.message) == (404, 'serviceaccounts "none" not found')
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "none"}
    unbound = await server.call("POST", f"{ACCOUNTS}/default/token", {"spec": {"boundObjectRef": reference}})
    assert (unbound.code, unbound.message) == (404, 'pods "none" not found')
