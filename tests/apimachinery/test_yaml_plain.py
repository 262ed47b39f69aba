"""Plain YAML is read as the whole of YAML reads it, or refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery import yaml
from jobrelay.apimachinery.yaml_plain import NotPlain, read_plain

KUBECONFIG = b"""\
apiVersion: v1
kind: Config
preferences: {}
current-context: dev
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTg==
    server: https://127.0.0.1:6443
  name: dev
contexts:
  - context:
      cluster: dev
      user: "admin"
    name: dev
users:
- name: admin
  user:
    token: abc.def-ghi
"""


def whole(text: bytes) -> Any:
    """The value that PyYAML's events give: the end of a document is not plain."""
    return yaml.load(text + b"\n...\n")


def test_a_kubeconfig_is_plain() -> None:
    assert read_plain(KUBECONFIG) == whole(KUBECONFIG)
    assert read_plain(KUBECONFIG)["users"] == [{"name": "admin", "user": {"token": "abc.def-ghi"}}]


MANIFEST = b"""\
# a Job
metadata:
  generateName: hello-  # and a suffix

  labels: {}
spec:
  # of one pod
  containers:
  - command: ["sh", "-c", "echo 'hi' [1, 2] # no comment; sleep 2"]
    args: [a,no, '"x"', 1.5]
    image: 'busybox'
"""


def test_a_manifest_with_comments_and_a_command_is_plain() -> None:
    assert read_plain(MANIFEST) == whole(MANIFEST)
    container = read_plain(MANIFEST)["spec"]["containers"][0]
    assert container["command"] == ["sh", "-c", "echo 'hi' [1, 2] # no comment; sleep 2"]
    assert container["args"] == ["a", False, '"x"', 1.5]


@pytest.mark.parametrize(
    "text",
    [
        "", "word", "a: |\n  text", "a: &b c", "a: b\n  c", "a: 'it''s'", 'a: "\\n"', "a: [[]]", "a: {b: c}",
        "a: b\na: c", "a:\tb", "---\na: b", "a: b\n- c", "a:\n    b: c\n  d: e", "- a\n  b", "yes: no",
        " a: b", "a: b: c", "a: b:", "- 1:", "a: \u00e9", "<<: {}", "- - a", "a: b\r",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_refused(text: str) -> None:
    with pytest.raises(NotPlain):
        read_plain(text.encode())


WORDS = st.sampled_from(["a", "name", "yes", "null", "~", "12", "0x1f", "1.5", "1e3", "https://x:1", "2024-01-02", "="])
VALUES = st.recursive(
    WORDS | st.integers(-5, 5) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_written_as_blocks_is_read_alike_or_refused(value: Any) -> None:
    _compare(pyyaml.safe_dump(value, default_flow_style=False).encode())


PARTS = st.sampled_from(
    ["a", "bc", ":", ": ", "- ", " ", "  ", "\n", "\n  ", "\n- ", "1", '"x y"', "{}", "[]", "no", "-", ".", "#", " #",
     "[", "]", ", ", ",", "'", '"', "['a', b]"]
)  # fmt: skip


@given(st.lists(PARTS, max_size=14).map("".join))
def test_any_text_is_read_alike_or_refused(text: str) -> None:
    _compare(text.encode())


def _compare(text: bytes) -> None:
    try:
        found = read_plain(text)
    except NotPlain:
        return
    assert found == whole(text)
