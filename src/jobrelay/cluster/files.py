"""A cluster's folder: its store, keys and port, and the admin's kubeconfig beside it.

    DIR/NAME.kubeconfig      for people and programs, mode 0600
    DIR/NAME/cluster.json    marks the folder as a cluster's: version, port
    DIR/NAME/store.sqlite    the objects
    DIR/NAME/pki/            the authority, the server's certificate, the key of service account tokens
    DIR/NAME/lock            held, with the holder's process id in it, while the cluster runs
    DIR/NAME/log             the output of a cluster in the background; log.1 is that of the start before

Folders without the marker are never changed.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from jobrelay.cluster.errors import AlreadyRunning, FolderError
from jobrelay.cluster.lock import FileLock

if TYPE_CHECKING:
    from jobrelay.kube.key_pair import KeyPair

VERSION: Final = 1
_PROGRAM: Final = "jobrelay"
_NOT_YET_MARKED: Final = frozenset({"lock", "log", "log.1", ".cluster.json.new"})


def write_private(path: pathlib.Path, data: bytes) -> None:
    """Writes a file that only its owner can read, atomically."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    temporary.replace(path)


class ClusterFolder:
    """The folder of one cluster, locked from `open` to `close`."""

    def __init__(self, parent: pathlib.Path, name: str) -> None:
        self.name = name
        self.path = parent / name
        self.kubeconfig = parent / f"{name}.kubeconfig"
        self.log = self.path / "log"
        self.store = self.path / "store.sqlite"
        self.pki = self.path / "pki"
        self._marker = self.path / "cluster.json"
        self._lock = FileLock(self.path / "lock")

    def open(self) -> None:
        """Creates the folder if it does not exist, and takes the lock; raises FolderError."""
        self.make()
        try:
            if not self._lock.take():
                raise self._held(self.holder() or 0)
            if not self._marker.exists():
                self.save({})
            self.pki.mkdir(exist_ok=True, mode=0o700)
            self._keep_from_others()
        except OSError as error:
            self.close()
            raise self._unusable(error) from error

    def _keep_from_others(self) -> None:
        """Removes the permissions of group and others from files that an older version, or a user, created."""
        for path in (self.path, self.pki, *self.path.iterdir(), *self.pki.iterdir()):
            found = path.lstat()
            if found.st_uid == os.geteuid() and found.st_mode & 0o077 and not path.is_symlink():
                path.chmod(found.st_mode & 0o700)

    def make(self) -> None:
        """Creates the folder, or checks that it is a cluster's; raises FolderError."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._check_ours()
        except OSError as error:
            raise self._unusable(error) from error

    def new_log(self) -> int:
        """Opens a new log for a cluster that is about to start; raises FolderError, also if it is already running."""
        self.make()
        if (pid := self.holder()) is not None:
            raise self._held(pid)
        try:
            if self.log.exists():
                self.log.replace(self.path / "log.1")
            return os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        """Releases the lock."""
        self._lock.release()

    def _unusable(self, error: OSError) -> FolderError:
        return FolderError(f"{self.path} cannot be used: {error.strerror}", "choose a folder that you can write to")

    def _held(self, pid: int) -> AlreadyRunning:
        return AlreadyRunning(
            f"cluster {self.name!r} in {self.path.parent} is already running (pid {pid or 'unknown'})",
            "stop it first, or choose another name or folder",
            pid=pid,
        )

    def _check_ours(self) -> None:
        if self._marker.exists():
            self.settings()
        elif any(entry.name not in _NOT_YET_MARKED for entry in self.path.iterdir()):
            raise FolderError(
                f"{self.path} holds files that are not a jobrelay cluster's",
                "choose another folder or name; nothing was changed",
            )
        elif self.kubeconfig.exists() and not self._wrote_kubeconfig():
            raise FolderError(
                f"{self.kubeconfig} exists and was not written by jobrelay",
                "choose another folder or name, or move that file away",
            )

    def _wrote_kubeconfig(self) -> bool:
        try:
            users = json.loads(self.kubeconfig.read_bytes())["users"]
            return bool(users[0]["name"] == f"{self.name}-admin")
        except (ValueError, LookupError, TypeError):
            return False

    def settings(self) -> dict[str, Any]:
        """The content of the marker; {} if there is none. Raises FolderError for a marker that is not a cluster's."""
        try:
            found = json.loads(self._marker.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise FolderError(f"{self._marker} cannot be read: {error}", "choose another folder or name") from error
        if not isinstance(found, dict) or found.get("program") != _PROGRAM:
            raise FolderError(f"{self._marker} was not written by jobrelay", "choose another folder or name")
        if found.get("version") != VERSION:
            hint = "use the version of jobrelay that made it, or another folder"
            raise FolderError(f"{self.path} has format {found.get('version')}, this version reads {VERSION}", hint)
        return found

    def save(self, settings: dict[str, Any]) -> None:
        marker = {"program": _PROGRAM, "version": VERSION, "name": self.name, **settings}
        write_private(self._marker, json.dumps(marker, indent=2).encode())

    def pair(self, name: str, make: Callable[[], KeyPair]) -> KeyPair:
        """The certificate and key of that name; created the first time. Imports what looking after folders does not."""
        from jobrelay.kube.key_pair import KeyPair

        certificate, key = self.pki / f"{name}.crt", self.pki / f"{name}.key"
        if certificate.exists() and key.exists():
            return KeyPair(certificate.read_bytes(), key.read_bytes())
        made = make()
        write_private(key, made.key)
        write_private(certificate, made.certificate)
        return made

    def holder(self) -> int | None:
        """The id of the process that runs the cluster (0 if unknown), or None if none does."""
        return self._lock.holder()

    def remove(self) -> None:
        """Deletes the folder and kubeconfig of a cluster that is not running; raises FolderError."""
        if not self._marker.exists():
            raise FolderError(f"{self.path} is not the folder of a jobrelay cluster", "nothing was deleted")
        self.open()
        try:
            shutil.rmtree(self.path)
            self.kubeconfig.unlink(missing_ok=True)
        except OSError as error:
            raise FolderError(f"{error.filename} cannot be deleted: {error.strerror}") from error
        finally:
            self.close()


def find_folders(parent: pathlib.Path) -> list[ClusterFolder]:
    """The clusters that have a folder under `parent`, by name."""
    try:
        markers = sorted(parent.glob("*/cluster.json"))
    except OSError as error:
        raise FolderError(f"{parent} cannot be read: {error.strerror}") from error
    found = [ClusterFolder(parent, marker.parent.name) for marker in markers]
    return [folder for folder in found if _is_ours(folder)]


def _is_ours(folder: ClusterFolder) -> bool:
    try:
        return bool(folder.settings())
    except FolderError:
        return False
