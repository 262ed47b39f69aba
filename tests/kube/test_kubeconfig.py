from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jobrelay.kube import ConfigError, Kubeconfig, find_connection, in_cluster
from jobrelay.kube.credentials import Certificate
from jobrelay.kube.exec_plugin import ExecPlugin
from jobrelay.kube.kubeconfig import default_paths


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def config(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, name: str = "dev") -> bytes:
    """A kubeconfig with one context; JSON is YAML too."""
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443/"} | (cluster or {})}],
            "users": [{"name": name, "user": user or {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "team"}}],
        }
    )


async def test_a_context_leads_to_a_connection() -> None:
    text = config({"certificate-authority-data": encoded(b"CA"), "tls-server-name": "api"}, {"token": "t"})
    found = Kubeconfig.inline(text).connection()
    assert (found.server, found.namespace, found.ca) == ("https://dev:6443", "team", b"CA")
    assert found.tls_server_name == "api"
    assert (await found.credentials.current()).authorization == "Bearer t"


async def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    for name in ("ca", "crt", "key"):
        (tmp_path / name).write_text(name)
    user = {"client-certificate": "crt", "client-key": str(tmp_path / "key")}
    (tmp_path / "config").write_bytes(config({"certificate-authority": "ca"}, user))
    found = Kubeconfig.load([tmp_path / "config"]).connection()
    assert found.ca == b"ca"
    assert (await found.credentials.current()).certificate == Certificate(b"crt", b"key")


def test_the_first_file_to_name_something_wins(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(config())
    (tmp_path / "two").write_bytes(config({"server": "https://other"}).replace(b'"users"', b'"more"'))
    (tmp_path / "three").write_bytes(config(name="prod"))
    merged = Kubeconfig.load([tmp_path / name for name in ("missing", "one", "two", "three")])
    assert merged.contexts == ["dev", "prod"]
    assert merged.current_context == "dev"
    assert merged.connection().server == "https://dev:6443"
    assert merged.connection("prod").server == "https://prod:6443"


async def test_token_file_and_basic_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file")
    for user, expected in [
        ({"tokenFile": "token", "token": "inline"}, "Bearer from-file"),
        ({"username": "u", "password": "p"}, "Basic dTpw"),
        ({}, None),
    ]:
        (tmp_path / "config").write_bytes(config(None, user))
        found = Kubeconfig.load([tmp_path / "config"]).connection()
        assert (await found.credentials.current()).authorization == expected


def test_impersonation_becomes_headers() -> None:
    user = {"token": "t", "as": "bob", "as-groups": ["a", "b"]}
    found = Kubeconfig.inline(config(None, user)).connection()
    assert found.headers == {"Impersonate-User": "bob", "Impersonate-Group": ["a", "b"]}


def test_an_exec_command_with_a_slash_is_relative_to_its_file(tmp_path: Path) -> None:
    user = {"exec": {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1beta1", "args": None}}
    (tmp_path / "config").write_bytes(config(None, user))
    found = Kubeconfig.load([tmp_path / "config"]).connection()
    assert isinstance(found.credentials, ExecPlugin)


@pytest.mark.parametrize(
    ("cluster", "user", "complaint"),
    [
        ({"certificate-authority": "/etc/ca"}, {}, "certificate-authority-data"),
        ({}, {"client-certificate": "/c", "client-key": "/k"}, "client-certificate-data"),
        ({}, {"tokenFile": "/etc/shadow"}, "tokenFile"),
        ({}, {"exec": {"command": "rm", "apiVersion": "client.authentication.k8s.io/v1beta1"}}, "exec runs a program"),
    ],
)
def test_inline_configs_may_not_touch_this_machine(
    cluster: dict[str, Any], user: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Kubeconfig.inline(config(cluster, user)).connection()


def test_an_inline_config_may_run_what_an_operator_allows() -> None:
    user = {"exec": {"command": "login", "apiVersion": "client.authentication.k8s.io/v1beta1"}}
    found = Kubeconfig.inline(config(None, user), exec_allowed=frozenset({"login"})).connection()
    assert isinstance(found.credentials, ExecPlugin)


def test_what_is_written_can_be_judged_before_it_is_used() -> None:
    cluster, user = Kubeconfig.inline(config(None, {"tokenFile": "/t"})).entries()
    assert (cluster.server[:8], user.token_file) == ("https://", "/t")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"a: [", "not YAML"),
        (b"clusters: 5", r"not a kubeconfig: .*\$.clusters"),
        (b"", "no current-context is set"),
        (b"current-context: x", "no context named 'x'"),
        (config().replace(b'"cluster":"dev"', b'"cluster":"gone"'), "no cluster .* named 'gone'\nhint: there is dev"),
        (config({"server": ""}), "has no server"),
        (config({"certificate-authority-data": "!"}), "not base64"),
        (config(None, {"client-key-data": encoded(b"k")}), "no client-certificate"),
        (config(None, {"auth-provider": {"name": "gcp"}}), "removed from Kubernetes in 1.26"),
        (config(None, {"token": 5}), "Expected `str`"),
    ],
)
def test_complaints_say_what_is_wrong(text: bytes, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Kubeconfig.inline(text).connection()


def test_a_token_that_looks_like_a_date_stays_text() -> None:
    text = config(None, {"token": "TOKEN"}).replace(b'"TOKEN"', b"2026-01-01")
    assert Kubeconfig.inline(text).connection()


def test_default_paths_follow_the_environment() -> None:
    assert default_paths({"KUBECONFIG": "/a::/b"}) == [Path("/a"), Path("/b")]
    assert default_paths({"HOME": "/h"}) == [Path("/h/.kube/config")]


async def test_in_a_pod_the_service_account_is_used(tmp_path: Path) -> None:
    for name, text in {"ca.crt": "CA", "token": "t", "namespace": "team\n"}.items():
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": "/nowhere"}
    found = find_connection(environ=environ, account=tmp_path)
    assert (found.server, found.namespace, found.ca) == ("https://[fd00::1]:443", "team", b"CA")
    assert (await found.credentials.current()).authorization == "Bearer t"


def test_finding_nothing_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"searched .*/config(.|\n)*hint"):
        find_connection(environ={"HOME": str(tmp_path)})
    with pytest.raises(ConfigError, match="there is no kubeconfig at"):
        find_connection(tmp_path / "missing")
    with pytest.raises(ConfigError, match="not running in a pod"):
        in_cluster({})


def test_an_explicit_file_wins(tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(config())
    assert find_connection(tmp_path / "config", environ={}).server == "https://dev:6443"
