"""Reading kubeconfig files as kubectl does.

Several files are merged: for each name, and for the current context, the first file that has it wins. Relative paths
are relative to their file. A kubeconfig that does not come from the user's own disk, such as one in a Secret, is read
with `Kubeconfig.inline`. It may contain only data, because a path in it would read files of this machine and an exec
entry would run a program that somebody else has chosen.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from jobrelay.apimachinery import yaml

from .connection import Connection
from .credentials import ANONYMOUS, Certificate, Credential, Credentials, StaticCredentials, TokenFile, basic, bearer
from .errors import ConfigError
from .exec_plugin import ExecConfig, ExecPlugin
from .regular_file import read_regular_file

__all__ = ["Kubeconfig", "default_paths"]

T = TypeVar("T")


class KubeconfigCluster(msgspec.Struct, frozen=True, rename="kebab"):
    """`clusters[].cluster`"""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""


_USER_KEYS = {
    "token_file": "tokenFile",
    "impersonate": "as",
    "impersonate_uid": "as-uid",
    "impersonate_groups": "as-groups",
}


class KubeconfigUser(msgspec.Struct, frozen=True, rename=lambda name: _USER_KEYS.get(name, name.replace("_", "-"))):
    """`users[].user`"""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    impersonate: str = ""
    impersonate_uid: str = ""
    impersonate_groups: list[str] | None = None
    exec: ExecConfig | None = None
    auth_provider: dict[str, Any] | None = None


class KubeconfigContext(msgspec.Struct, frozen=True):
    """`contexts[].context`"""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: KubeconfigCluster = KubeconfigCluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: KubeconfigUser | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: KubeconfigContext = KubeconfigContext()


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None
    current_context: str | None = None


@dataclass(frozen=True, slots=True)
class _NamedEntry(Generic[T]):
    """A value and the file it was found in, None for inline text."""

    value: T
    file: Path | None

    @property
    def where(self) -> str:
        return str(self.file) if self.file else "the inline kubeconfig"


def default_paths(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The files that kubectl reads by default."""
    listed = [Path(path) for path in environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    return listed or [Path(environ.get("HOME") or Path.home()) / ".kube" / "config"]


@dataclass(slots=True)
class Kubeconfig:
    """The merged content of one or more kubeconfig files."""

    current_context: str = ""
    exec_allowed: frozenset[str] = frozenset()
    """Exec plugins that an inline kubeconfig may run."""
    _clusters: dict[str, _NamedEntry[KubeconfigCluster]] = field(default_factory=dict)
    _users: dict[str, _NamedEntry[KubeconfigUser]] = field(default_factory=dict)
    _contexts: dict[str, _NamedEntry[KubeconfigContext]] = field(default_factory=dict)

    @classmethod
    def load(
        cls, paths: Sequence[Path], *, must_exist: bool = False, read: Callable[[Path], bytes] = Path.read_bytes
    ) -> Kubeconfig:
        """Read and merge files; missing ones are skipped unless `must_exist`.

        By default, as in kubectl, a path may also be that of a pipe or device.
        """
        merged = cls()
        for path in paths:
            try:
                text = read(path)
            except FileNotFoundError:
                if must_exist:
                    raise ConfigError(f"there is no kubeconfig at {path}") from None
                continue
            except OSError as error:
                raise ConfigError(f"cannot read the kubeconfig {path}: {error.strerror}") from error
            merged._merge(text, path)
        return merged

    @classmethod
    def inline(cls, text: bytes, *, exec_allowed: frozenset[str] = frozenset()) -> Kubeconfig:
        """Read a kubeconfig that is not trusted: it may not name files, nor run programs except those allowed."""
        config = cls(exec_allowed=exec_allowed)
        config._merge(text, None)
        return config

    @property
    def contexts(self) -> list[str]:
        """The names of all contexts, in the order of the files."""
        return list(self._contexts)

    def connection(self, context: str | None = None) -> Connection:
        """The connection of a context, by default of the current one."""
        chosen, cluster, user = self._chosen(context)
        if not cluster.value.server:
            raise ConfigError(f"cluster {chosen.cluster!r} in {cluster.where} has no server")
        ca = _data(cluster, "certificate-authority")
        return Connection(
            server=cluster.value.server.rstrip("/"),
            namespace=chosen.namespace or "default",
            credentials=_credentials(user, cluster.value, ca, self.exec_allowed) if user else ANONYMOUS,
            ca=ca,
            insecure=cluster.value.insecure_skip_tls_verify,
            tls_server_name=cluster.value.tls_server_name or None,
            proxy_url=cluster.value.proxy_url or None,
            headers=_impersonation(user.value) if user else {},
        )

    def entries(self, context: str | None = None) -> tuple[KubeconfigCluster, KubeconfigUser]:
        """The entries of the cluster and the user of a context, as they are written."""
        _, cluster, user = self._chosen(context)
        return cluster.value, user.value if user else KubeconfigUser()

    def _chosen(
        self, context: str | None
    ) -> tuple[KubeconfigContext, _NamedEntry[KubeconfigCluster], _NamedEntry[KubeconfigUser] | None]:
        name = context or self.current_context
        if not name:
            raise ConfigError(f"no current-context is set\nhint: name one of {_names(self._contexts)}")
        chosen = _pick(self._contexts, name, "context")
        cluster = _pick(self._clusters, chosen.value.cluster, f"cluster (of context {name!r})")
        user = _pick(self._users, chosen.value.user, f"user (of context {name!r})") if chosen.value.user else None
        return chosen.value, cluster, user

    def _merge(self, text: bytes, path: Path | None) -> None:
        file = _parse(text, str(path) if path else "the inline kubeconfig")
        for cluster in file.clusters or ():
            self._clusters.setdefault(cluster.name, _NamedEntry(cluster.cluster, path))
        for user in file.users or ():
            self._users.setdefault(user.name, _NamedEntry(user.user or KubeconfigUser(), path))
        for context in file.contexts or ():
            self._contexts.setdefault(context.name, _NamedEntry(context.context, path))
        self.current_context = self.current_context or file.current_context or ""


def _names(entries: Mapping[str, object]) -> str:
    return ", ".join(sorted(entries)) or "none (the kubeconfig is empty)"


def _parse(text: bytes, where: str) -> _File:
    try:
        content = yaml.load(text)
        return msgspec.convert(content if content is not None else {}, _File)
    except yaml.YamlError as error:
        raise ConfigError(f"{where} is not YAML: {error}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where} is not a kubeconfig: {error}") from error


def _pick(entries: Mapping[str, _NamedEntry[T]], name: str, what: str) -> _NamedEntry[T]:
    if name not in entries:
        raise ConfigError(f"the kubeconfig has no {what} named {name!r}\nhint: there is {_names(entries)}")
    return entries[name]


def _data(entry: _NamedEntry[Any], name: str) -> bytes | None:
    """The decoded `name-data` or, without it, the content of the file that `name` points to."""
    attribute = name.replace("-", "_")
    encoded, path = getattr(entry.value, f"{attribute}_data"), getattr(entry.value, attribute)
    if encoded:
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise ConfigError(f"{name}-data in {entry.where} is not base64: {error}") from error
    if not path:
        return None
    resolved = _resolve(entry, name, path)
    try:
        return read_regular_file(resolved)
    except OSError as error:
        raise ConfigError(f"{name} in {entry.where}: cannot read {resolved}: {error.strerror}") from error


def _resolve(entry: _NamedEntry[Any], name: str, path: str) -> Path:
    if entry.file is None:
        raise ConfigError(f"{name} names a file, which an inline kubeconfig may not\nhint: embed it as {name}-data")
    return entry.file.parent / path


def _credentials(
    user: _NamedEntry[KubeconfigUser], cluster: KubeconfigCluster, ca: bytes | None, exec_allowed: frozenset[str]
) -> Credentials:
    """The first of token file, token, password, exec plugin and certificate, in kubectl's order."""
    value, certificate = user.value, _certificate(user)
    if value.token_file:
        if user.file is None:
            raise ConfigError("tokenFile names a file, which an inline kubeconfig may not\nhint: embed it as token")
        return TokenFile(user.file.parent / value.token_file, certificate)
    if value.token:
        return StaticCredentials(Credential(bearer(value.token), certificate))
    if value.username:
        return StaticCredentials(Credential(basic(value.username, value.password), certificate))
    if value.exec is not None and certificate is None:
        if user.file is None and value.exec.command not in exec_allowed:
            raise ConfigError("exec runs a program, which an inline kubeconfig may not\nhint: use a token instead")
        return ExecPlugin(_located(value.exec, user.file), _cluster_info(cluster, ca))
    if value.auth_provider is not None and certificate is None:
        raise ConfigError(
            f"auth-provider in {user.where} was removed from Kubernetes in 1.26\n"
            "hint: use an exec plugin, for example gke-gcloud-auth-plugin or kubelogin"
        )
    return StaticCredentials(Credential(None, certificate))


def _certificate(user: _NamedEntry[KubeconfigUser]) -> Certificate | None:
    chain, key = _data(user, "client-certificate"), _data(user, "client-key")
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        missing = "client-certificate" if chain is None else "client-key"
        raise ConfigError(f"the user in {user.where} has no {missing}, but certificate and key only work together")
    return Certificate(chain, key)


def _located(plugin: ExecConfig, file: Path | None) -> ExecConfig:
    """A command with a slash is relative to its kubeconfig; one without is found on PATH."""
    if file is None or "/" not in plugin.command:
        return plugin
    return msgspec.structs.replace(plugin, command=str(file.parent / plugin.command))


def _cluster_info(cluster: KubeconfigCluster, ca: bytes | None) -> dict[str, Any]:
    info: dict[str, Any] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(ca).decode() if ca else "",
        "proxy-url": cluster.proxy_url,
    }
    return {key: value for key, value in info.items() if value}


def _impersonation(user: KubeconfigUser) -> dict[str, str | list[str]]:
    headers: dict[str, str | list[str]] = {
        "Impersonate-User": user.impersonate,
        "Impersonate-Uid": user.impersonate_uid,
        "Impersonate-Group": user.impersonate_groups or [],
    }
    return {name: value for name, value in headers.items() if value}
