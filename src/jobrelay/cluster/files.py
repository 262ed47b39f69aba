"""What a cluster keeps in its folder: the store, its keys, its port, and the admin's kubeconfig beside it.

    DIR/NAME.kubeconfig      for people and programs, mode 0600
    DIR/NAME/cluster.json    the marker that makes the folder ours: version and port
    DIR/NAME/store.sqlite    the objects
    DIR/NAME/pki/            the authority, the server's certificate, the key of service account tokens
    DIR/NAME/lock            held while the cluster runs
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import pathlib
from typing import IO, Any

from jobrelay.cluster.pki import KeyPair


class FolderError(Exception):
    """A folder that cannot be used; the message says why and what to do."""


def write_private(path: pathlib.Path, data: bytes) -> None:
    """Writes a file that only its owner can read, as a whole or not at all."""
    temporary = path.with_name(f".{path.name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    temporary.replace(path)


class ClusterFolder:
    """The folder of one cluster, locked from `open` to `close`."""

    def __init__(self, parent: pathlib.Path, name: str) -> None:
        self.name = name
        self.path = parent / name
        self.kubeconfig = parent / f"{name}.kubeconfig"
        self.store = self.path / "store.sqlite"
        self._marker = self.path / "cluster.json"
        self._lock: IO[str] | None = None

    def open(self) -> None:
        try:
            existed = self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            if existed and not self._marker.exists() and any(self.path.iterdir()):
                raise FolderError(
                    f"{self.path} holds files that are not a jobrelay cluster's; choose another --dir or name, or empty it"
                )
            (self.path / "pki").mkdir(exist_ok=True, mode=0o700)
            self._lock = (self.path / "lock").open("a+")
        except OSError as error:
            raise FolderError(f"{self.path} cannot be used: {error.strerror}; choose another --dir") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.seek(0)
            holder = self._lock.read().strip() or "unknown"
            self._lock.close()
            self._lock = None
            raise FolderError(
                f"cluster {self.name} in {self.path.parent} is already running (pid {holder}); stop it first"
            ) from None
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(str(os.getpid()))
        self._lock.flush()

    def close(self) -> None:
        if self._lock is not None:
            self._lock.truncate(0)
            self._lock.close()
            self._lock = None

    def settings(self) -> dict[str, Any]:
        if not self._marker.exists():
            return {}
        try:
            found: dict[str, Any] = json.loads(self._marker.read_text())
        except (OSError, ValueError) as error:
            raise FolderError(f"{self._marker} cannot be read: {error}") from error
        return found

    def save(self, settings: dict[str, Any]) -> None:
        write_private(self._marker, json.dumps(settings, indent=2).encode())

    def pair(self, name: str) -> KeyPair | None:
        certificate, key = self.path / "pki" / f"{name}.crt", self.path / "pki" / f"{name}.key"
        if certificate.exists() and key.exists():
            return KeyPair(certificate.read_bytes(), key.read_bytes())
        return None

    def keep_pair(self, name: str, pair: KeyPair) -> None:
        write_private(self.path / "pki" / f"{name}.key", pair.key)
        write_private(self.path / "pki" / f"{name}.crt", pair.certificate)


def kubeconfig(name: str, url: str, authority: bytes, user: KeyPair) -> bytes:
    """A kubeconfig with a client certificate, as JSON (which is YAML)."""
    text = lambda data: base64.b64encode(data).decode()  # noqa: E731
    cluster = {"server": url, "certificate-authority-data": text(authority)}
    credentials = {"client-certificate-data": text(user.certificate), "client-key-data": text(user.key)}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": f"{name}-admin", "user": credentials}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-admin"}}],
        },
        indent=2,
    ).encode()
