"""Checks kubeconfigs before they are used.

A kubeconfig in a Secret, or in a file that an object names, was not written by the relay's operator. It may therefore
only name a server and embed credentials: it may not name local files or a proxy, run programs (other than those that an
operator allows), or use plain or unverified connections. A kubeconfig named on the command line is the operator's own
and may refer to files and programs; plain and unverified connections are rejected there too.

The reasons are those that Kueue writes to the condition `Active` of a MultiKueueCluster.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urlsplit

from jobrelay.kube import ConfigError, Kubeconfig
from jobrelay.kube.kubeconfig import KubeconfigCluster, KubeconfigUser
from jobrelay.kube.regular_file import read_regular_file
from jobrelay.relay.workers.spec import Access, RejectedKubeconfig, UsableKubeconfig

BAD = "BadKubeConfig"
INSECURE = "InsecureKubeConfig"
_PREFIX = "load client config failed: "


def from_text(text: bytes, allow_exec: frozenset[str] = frozenset()) -> Access:
    """Check a kubeconfig that somebody else wrote."""
    try:
        config = Kubeconfig.inline(text, exec_allowed=allow_exec)
        cluster, user = config.entries()
        if problem := _insecure(cluster) or _unsafe(cluster, user, allow_exec):
            return RejectedKubeconfig(INSECURE, _PREFIX + problem)
        return UsableKubeconfig(config.connection(), _digest(text))
    except ConfigError as error:
        return bad(str(error))


def from_file(path: Path) -> Access:
    """Check the operator's own kubeconfig."""
    try:
        config = Kubeconfig.load([path], must_exist=True, read=read_regular_file)
        cluster, user = config.entries()
        if problem := _insecure(cluster):
            return RejectedKubeconfig(INSECURE, _PREFIX + problem)
        named = (cluster.certificate_authority, user.client_certificate, user.client_key)
        files = (path, *(path.parent / name for name in named if name))
        return UsableKubeconfig(config.connection(), _digest(*map(_content, files)), files)
    except ConfigError as error:
        return bad(str(error))


def bad(problem: str) -> RejectedKubeconfig:
    """A kubeconfig that is missing or invalid."""
    return RejectedKubeconfig(BAD, _PREFIX + " ".join(problem.replace("\nhint:", "; hint:").split()))


def _insecure(cluster: KubeconfigCluster) -> str:
    try:
        server = urlsplit(cluster.server)
        host, _ = server.hostname, server.port
    except ValueError:
        return f"{cluster.server!r} is not an address of a server"
    if server.scheme == "http":
        return f"server {cluster.server} is not encrypted; use https"
    if server.scheme != "https" or not host:
        return f"{cluster.server!r} is not an address of a server"
    if cluster.insecure_skip_tls_verify:
        return "insecure-skip-tls-verify is set; give certificate-authority-data instead"
    return ""


def _unsafe(cluster: KubeconfigCluster, user: KubeconfigUser, allow_exec: frozenset[str]) -> str:
    if user.token_file:
        return "tokenFile is not allowed; embed the token"
    if cluster.certificate_authority:
        return "certificate-authority names a file; embed it as certificate-authority-data"
    if user.client_certificate or user.client_key:
        return "client-certificate and client-key name files; embed them as client-certificate-data and client-key-data"
    if cluster.proxy_url:
        return "proxy-url is not allowed; name a server that can be reached directly, or by the relay's own proxy"
    if user.username or user.password:
        return "basic authentication is not allowed; use a token or a certificate"
    if user.auth_provider is not None:
        return "auth-provider is not allowed; use a token or a certificate"
    if user.exec is not None and user.exec.command not in allow_exec:
        return f"exec plugin {user.exec.command!r} is not allowed; an operator may allow it by --allow-exec"
    return ""


def _content(path: Path) -> bytes:
    try:
        return read_regular_file(path)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error


def _digest(*texts: bytes) -> str:
    whole = hashlib.sha256()
    for text in texts:
        whole.update(len(text).to_bytes(8, "big") + text)
    return whole.hexdigest()
