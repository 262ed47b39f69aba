"""What a proof is bound to, and which keys verify it."""

from __future__ import annotations

import pytest

from jobrelay.relay.proofs import InvalidKeys, ProofKeys, ProofSubject, cluster_binding, parse_keys

SUBJECT = ProofSubject("origin", "jobs.batch", "uid", "cluster", "team", "train", "1")
OLD, NEW = b"o" * 32, b"n" * 32


def test_a_proof_is_valid_for_what_was_signed() -> None:
    keys = ProofKeys([OLD])
    assert keys.sign(SUBJECT).startswith("v1.")
    assert keys.verify(SUBJECT, keys.sign(SUBJECT))


@pytest.mark.parametrize("field", ProofSubject._fields)
def test_a_proof_is_bound_to_each_field(field: str) -> None:
    keys = ProofKeys([OLD])
    assert not keys.verify(SUBJECT._replace(**{field: "2"}), keys.sign(SUBJECT))


def test_a_text_cannot_be_moved_from_one_field_to_the_next() -> None:
    keys = ProofKeys([OLD])
    proof = keys.sign(SUBJECT._replace(namespace='a","b', name="c"))
    assert not keys.verify(SUBJECT._replace(namespace="a", name='b","c'), proof)


def test_the_first_key_signs_and_all_verify() -> None:
    both = ProofKeys([NEW, OLD])
    assert both.sign(SUBJECT) == ProofKeys([NEW]).sign(SUBJECT)
    assert both.verify(SUBJECT, ProofKeys([OLD]).sign(SUBJECT))
    assert not ProofKeys([NEW]).verify(SUBJECT, ProofKeys([OLD]).sign(SUBJECT))


def test_a_proof_may_be_any_text() -> None:
    assert not ProofKeys([OLD]).verify(SUBJECT, "ü")
    assert not ProofKeys().verify(SUBJECT, "")


def test_keys_survive_the_secret() -> None:
    keys = ProofKeys([NEW, bytes(range(200, 232))])
    assert parse_keys(keys.text()) == keys


@pytest.mark.parametrize(
    ("text", "words"), [("", "no key"), ("%\n", "line 1 is not base64"), ("\nYWJj\n", "line 2 has 3 bytes")]
)
def test_a_text_without_usable_keys_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidKeys, match=words):
        parse_keys(text)


def test_clusters_without_a_readable_identity_are_told_apart_by_the_workers_name() -> None:
    assert cluster_binding("a", "uid") == cluster_binding("b", "uid")
    assert cluster_binding("a", "") != cluster_binding("b", "")
