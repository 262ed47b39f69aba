from __future__ import annotations

import msgspec
import pytest

from jobrelay.kube import Key, ProtocolError
from jobrelay.kube.objects import decode_list, decode_object, encode
from jobrelay.kube.resource import JOBS

RAW = (
    b'{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7",'
    b'"labels":{"x":"y"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"o","controller":true}],'
    b'"managedFields":[{"manager":"m"}]},"spec":{"parallelism":2}}'
)


class JobSpec(msgspec.Struct):
    parallelism: int


class JobView(msgspec.Struct):
    spec: JobSpec


def test_metadata_is_decoded_and_the_rest_is_kept() -> None:
    job = decode_object(RAW)
    assert job.key == Key("ns", "a")
    assert job.metadata.labels == {"x": "y"}
    assert job.metadata.controller is not None
    assert job.metadata.controller.uid == "o"
    assert job.raw == RAW


def test_decode_gives_a_fresh_dict_each_time() -> None:
    job = decode_object(RAW)
    job.decode()["spec"]["parallelism"] = 5
    assert job.decode()["spec"]["parallelism"] == 2


def test_decode_into_a_view_reads_only_what_it_names() -> None:
    assert decode_object(RAW).decode(JobView).spec.parallelism == 2


def test_a_view_that_does_not_fit_is_a_protocol_error() -> None:
    class View(msgspec.Struct):
        spec: str

    with pytest.raises(ProtocolError, match="ns/a"):
        decode_object(RAW).decode(View)


def test_list_items_get_their_kind_back() -> None:
    page = decode_list(b'{"metadata":{"resourceVersion":"9","continue":"c"},"items":[{"metadata":{"name":"a"}}]}', JOBS)
    assert page.items[0].decode() == {"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": "a"}}
    assert (page.resource_version, page.continue_token) == ("9", "c")


def test_list_items_do_not_pin_the_page() -> None:
    page = decode_list(b'{"metadata":{},"items":[' + RAW + b"]}", JOBS)
    assert type(page.items[0].raw) is bytes
    assert page.items[0].raw == RAW


def test_items_may_be_null() -> None:
    assert decode_list(b'{"metadata":{},"items":null}', JOBS).items == ()


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"metadata":{"name":5}}'])
def test_what_is_not_an_object_is_refused(raw: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_object(raw)


def test_bytes_are_sent_as_they_are() -> None:
    assert encode(b"{ }") == b"{ }"
    assert encode({"a": 1}) == b'{"a":1}'
