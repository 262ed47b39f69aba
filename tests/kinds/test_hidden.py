"""Metadata on its own."""

from __future__ import annotations

from jobrelay.kinds.hidden import ROLLBACK_TO, TEMPLATE_GENERATION, bare_metadata


def test_annotations_of_a_version_are_not_shown() -> None:
    metadata = {"name": "x", "annotations": {TEMPLATE_GENERATION: "1"}}
    assert bare_metadata(metadata) == {"name": "x"}
    metadata["annotations"] = {ROLLBACK_TO: "1", "mine": "2"}
    assert bare_metadata(metadata) == {"name": "x", "annotations": {"mine": "2"}}


def test_other_metadata_is_untouched() -> None:
    metadata = {"name": "x", "annotations": {"mine": "2"}}
    assert bare_metadata(metadata) is metadata
