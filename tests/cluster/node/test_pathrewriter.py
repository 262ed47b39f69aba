"""Which paths in a text become those of a volume."""

from __future__ import annotations

import pytest

from jobrelay.cluster.node.process.pathrewriter import PathRewriter

moved = PathRewriter({"/data": "/v/1", "/data/deep": "/v/2", "/tmp": "/v/3"}, keep="/tmp/cluster")


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("/data", "/v/1"),
        ("cat /data/foo-$I", "cat /v/1/foo-$I"),
        ("[[ -r '/data' ]]; cp /data/x /data/y", "[[ -r '/v/1' ]]; cp /v/1/x /v/1/y"),
        ("dir=/data;", "dir=/v/1;"),
        ("/data/deep/x", "/v/2/x"),
        ("/bin:/data/bin", "/bin:/v/1/bin"),
        ("ls /tmp /tmp/clusters", "ls /v/3 /v/3/clusters"),
    ],
)
def test_a_path_that_stands_for_itself_is_moved(text: str, becomes: str) -> None:
    assert moved(text) == becomes


@pytest.mark.parametrize(
    "text",
    [
        "/var/data",
        "$HOME/data",
        "${HOME}/data",
        "http://data/x",
        "/database",
        "/data.txt",
        "./data",
        "/tmp/cluster/pods",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert moved(text) == text


def test_nothing_is_moved_without_places() -> None:
    assert PathRewriter({}, keep="/k")("/") == "/"
