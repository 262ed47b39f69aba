from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobrelay.kube.execplugin import ExecPlugin
from jobrelay.relay.workers import RejectedKubeconfig, UsableKubeconfig
from jobrelay.relay.workers.access import from_file, from_text

from .support import kubeconfig

EXEC = {"exec": {"command": "login", "apiVersion": "client.authentication.k8s.io/v1beta1"}}


def test_a_plain_kubeconfig_leads_to_its_server() -> None:
    found = from_text(kubeconfig())
    assert isinstance(found, UsableKubeconfig)
    assert found.connection.server == "https://worker:6443"


def test_only_a_changed_kubeconfig_is_another_way() -> None:
    assert from_text(kubeconfig()) == from_text(kubeconfig())
    assert from_text(kubeconfig()) != from_text(kubeconfig(user={"token": "other"}))


@pytest.mark.parametrize(
    ("cluster", "user", "words"),
    [
        ({"server": "http://worker"}, None, "is not encrypted"),
        ({"server": ""}, None, "not an address"),
        ({"server": "https://"}, None, "not an address"),
        ({"server": "https://host:port"}, None, "not an address"),
        ({"server": "https://[::1"}, None, "not an address"),
        ({"insecure-skip-tls-verify": True}, None, "insecure-skip-tls-verify"),
        ({"certificate-authority": "/etc/ca"}, None, "certificate-authority names a file"),
        (None, {"tokenFile": "/etc/token"}, "tokenFile is not allowed"),
        (None, {"client-certificate": "/c", "client-key": "/k"}, "name files"),
        (None, {"username": "u", "password": "p"}, "basic authentication"),
        (None, {"auth-provider": {"name": "gcp"}}, "auth-provider"),
        (None, EXEC, "exec plugin 'login' is not allowed"),
    ],
)
def test_what_is_not_safe_is_refused(cluster: dict[str, Any] | None, user: dict[str, Any] | None, words: str) -> None:
    found = from_text(kubeconfig(cluster, user))
    assert isinstance(found, RejectedKubeconfig)
    assert found.reason == "InsecureKubeConfig"
    assert found.message.startswith("load client config failed: ")
    assert words in found.message


@pytest.mark.parametrize(
    "text", [b"", b"a: [", b"clusters: 5", b"\xff\xfe", kubeconfig({"certificate-authority-data": "!"})]
)
def test_what_is_no_kubeconfig_is_refused_as_such(text: bytes) -> None:
    found = from_text(text)
    assert isinstance(found, RejectedKubeconfig)
    assert found.reason == "BadKubeConfig"
    assert "\n" not in found.message


def test_an_operator_may_allow_a_plugin() -> None:
    found = from_text(kubeconfig(user=EXEC), frozenset({"login"}))
    assert isinstance(found, UsableKubeconfig)
    assert isinstance(found.connection.credentials, ExecPlugin)


def test_the_operators_own_kubeconfig_may_name_files(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"one")
    (tmp_path / "config").write_bytes(kubeconfig({"certificate-authority": "ca.pem"}, {"tokenFile": "token"}))
    found = from_file(tmp_path / "config")
    assert isinstance(found, UsableKubeconfig)
    (tmp_path / "ca.pem").write_bytes(b"two")
    assert from_file(tmp_path / "config") != found


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        ({"server": "http://worker"}, "InsecureKubeConfig"),
        ({"insecure-skip-tls-verify": True}, "InsecureKubeConfig"),
        ({"certificate-authority": "gone"}, "BadKubeConfig"),
    ],
)
def test_even_the_operators_own_must_be_encrypted_and_complete(
    tmp_path: Path, cluster: dict[str, Any], reason: str
) -> None:
    (tmp_path / "config").write_bytes(kubeconfig(cluster))
    found = from_file(tmp_path / "config")
    assert isinstance(found, RejectedKubeconfig)
    assert found.reason == reason
