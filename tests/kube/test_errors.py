from __future__ import annotations

import pytest

from jobrelay.kube import Conflict, Expired, Forbidden, Invalid, NotFound, Response, ServerTimeout, StatusError
from jobrelay.kube.errors import Status, TooManyRequests, error_from_response, error_from_status

from .scripted import refusal


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (410, "Expired", Expired),
        (410, "Gone", Expired),
        (500, "ServerTimeout", ServerTimeout),
        (504, "Timeout", ServerTimeout),
        (403, "", Forbidden),
        (418, "Teapot", StatusError),
    ],
)
def test_reason_decides_and_the_code_stands_in(code: int, reason: str, kind: type[StatusError]) -> None:
    assert type(error_from_status(Status(reason=reason, code=code))) is kind


async def test_causes_are_kept() -> None:
    causes = [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec"}]
    error = await error_from_response(refusal(422, "Invalid", "bad", {"causes": causes}))
    assert isinstance(error, Invalid)
    assert error.causes[0].field == "spec"
    assert error.has_cause("FieldValueRequired")
    assert not error.has_cause("NamespaceTerminating")


async def test_retry_after_comes_from_header_or_details() -> None:
    by_header = await error_from_response(refusal(429, "TooManyRequests", Retry_After="7"))
    by_details = await error_from_response(refusal(429, "TooManyRequests", "", {"retryAfterSeconds": 3}))
    assert isinstance(by_header, TooManyRequests)
    assert (by_header.retry_after, by_details.retry_after) == (7, 3)


async def test_a_page_of_text_is_an_error_too() -> None:
    error = await error_from_response(Response(404, {}, b"404 page not found\n"))
    assert isinstance(error, NotFound)
    assert str(error) == "404 page not found"
    assert error.code == 404
