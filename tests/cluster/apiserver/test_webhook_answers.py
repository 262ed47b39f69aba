"""What is made of the answers of webhooks, in the words of a real server."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from jobrelay.cluster.apiserver.admission.webhooks import answers
from jobrelay.cluster.apiserver.admission.webhooks.answers import CallFailed
from jobrelay.cluster.apiserver.admission.webhooks.review import Review
from jobrelay.cluster.apiserver.body import SCHEME
from jobrelay.cluster.apiserver.outbound import OutboundAnswer

V1 = Review("u-1", "v1", b"")
V1BETA1 = Review("u-1", "v1beta1", b"")
NO_OBJECT = (
    'into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
UNREADABLE = "failed to call webhook: couldn't get version/kind; json parse error: "
INVALID = "received invalid webhook response: "


def review(version: str = "v1", **response: Any) -> dict[str, Any]:
    body = {"uid": "u-1", "allowed": True, **response}
    return {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "response": body}


def failure(
    body: object, sent: Review = V1, *, status: int = 200, media: str = "text/plain", mutating: bool = True
) -> str:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    with pytest.raises(CallFailed) as caught:
        answers.read(OutboundAnswer(status, raw, {"Content-Type": media}), sent, mutating=mutating)
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("hello", f"{UNREADABLE}json: cannot unmarshal string {NO_OBJECT}"),
        ("[]", f"{UNREADABLE}json: cannot unmarshal array {NO_OBJECT}"),
        ("null", f"{INVALID}webhook response was absent"),
        ('{"kind": "AdmissionReview"', f"{UNREADABLE}unexpected end of JSON input"),
        ("", "failed to call webhook: 0-length response with status code: 200 and content type: text/plain"),
        ({**review(), "response": None}, f"{INVALID}webhook response was absent"),
        (review(uid="x"), f'{INVALID}expected response.uid="u-1", got "x"'),
        (review(uid=None), f'{INVALID}expected response.uid="u-1", got ""'),
        (
            {**review(), "kind": "", "apiVersion": ""},
            f"{INVALID}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
        (
            review("v1beta1"),
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            {"kind": "Status", "apiVersion": "v1"},
            "failed to call webhook: converting (v1.Status) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            {"kind": "Pod", "apiVersion": "v1"},
            f'failed to call webhook: no kind "Pod" is registered for version "v1" in scheme "{SCHEME}"',
        ),
    ],
)
def test_an_answer_that_is_no_review(body: object, text: str) -> None:
    assert failure(body) == text


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (204, "0-length response with status code: 204 and content type: text/plain"),
        (300, "the server responded with the status code 300 but did not return more information"),
        (400, "the server rejected our request for an unknown reason"),
        (403, "why not"),
        (404, "the server could not find the requested resource"),
        (500, 'an error on the server ("why not") has prevented the request from succeeding'),
        (503, "the server is currently unable to handle the request"),
    ],
)
def test_an_answer_that_is_no_success(status: int, text: str) -> None:
    assert failure("" if status == 204 else "why not", status=status) == f"failed to call webhook: {text}"


def test_a_status_speaks_for_itself() -> None:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": 403}
    assert failure(status, status=403, media="application/json") == "failed to call webhook: no"


PATCH = base64.b64encode(b"[]").decode()


@pytest.mark.parametrize(
    ("mutating", "response", "text"),
    [
        (True, {"patch": PATCH}, "webhook returned response.patch but not response.patchType"),
        (True, {"patchType": "JSONPatch"}, "webhook returned response.patchType but not response.patch"),
        (True, {"patch": PATCH, "patchType": ""}, 'webhook returned invalid response.patchType of ""'),
        (False, {"patch": PATCH, "patchType": "JSONPatch"}, "validating webhook may not return response.patch"),
        (False, {"patchType": "JSONPatch"}, "validating webhook may not return response.patchType"),
    ],
)
def test_a_patch_needs_its_type_and_a_mutating_webhook(mutating: bool, response: dict[str, str], text: str) -> None:
    assert failure(review(**response), mutating=mutating) == INVALID + text


def test_v1beta1_is_read_with_less_care() -> None:
    body = json.dumps(review("v1beta1", uid="", patch=PATCH)).encode()
    verdict = answers.read(OutboundAnswer(200, body), V1BETA1, mutating=True)
    assert (verdict.allowed, verdict.patch, verdict.patch_type) == (True, b"[]", "JSONPatch")


@pytest.mark.parametrize(
    ("status", "code", "reason", "said"),
    [
        (None, 400, "", " without explanation"),
        ({"message": "no"}, 400, "", ": no"),
        ({"reason": "Forbidden"}, 400, "Forbidden", ": Forbidden"),
        ({"code": 200, "status": "Success"}, 400, "", " without explanation"),
        ({"code": 451, "message": "no"}, 451, "", ": no"),
    ],
)
def test_a_refusal(status: dict[str, Any] | None, code: int, reason: str, said: str) -> None:
    refusal = answers.refusal("x.y.z", status)
    assert (refusal.code, refusal.reason) == (code, reason)
    assert refusal.message == f'admission webhook "x.y.z" denied the request{said}'
