"""Volumes: folders and files below a pod's own folder, set up before its containers start.

Volumes with content from the API (ConfigMaps, Secrets, the downward API, tokens) are read-only, as on Kubernetes, and
are kept up to date while the pod runs.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from jobrelay.cluster.node.process import atomicwriter
from jobrelay.cluster.node.process.environment import (
    ConfigMissing,
    Lookup,
    contents,
    expand,
    field_value,
    resource_container,
    resource_value,
)
from jobrelay.cluster.node.process.launcher import BindMount, StartError
from jobrelay.cluster.node.process.names import below
from jobrelay.cluster.node.process.supervisor import open_beneath
from jobrelay.kube.errors import KubeError

_FILE_MODE: Final = 0o644
_FROM_API: Final = ("configMap", "secret", "downwardAPI", "projected")
Token = Callable[[Mapping[str, Any]], Awaitable[str]]


class MountSource(NamedTuple):
    """The path of a volume on the host, and whether containers may only read it."""

    path: pathlib.Path
    read_only: bool = False


class Volumes:
    """Sets up the volumes of one pod. `token` issues service account tokens for projections."""

    def __init__(
        self, pod: Mapping[str, Any], folder: pathlib.Path, lookup: Lookup, token: Token, capacity: Mapping[str, str]
    ) -> None:
        self._folder, self._lookup, self._token, self._capacity = folder, lookup, token, capacity
        self._pod = pod
        context = pod["spec"].get("securityContext") or {}
        self._group: int | None = context.get("fsGroup") if os.getuid() == 0 else None
        self._written = [volume for volume in self._volumes() if _from_api(volume)]

    def _volumes(self) -> Sequence[Mapping[str, Any]]:
        return self._pod["spec"].get("volumes") or ()

    async def set_up(self) -> dict[str, MountSource]:
        """Creates all volumes; returns them by name. Raises ConfigMissing while an object they need is missing."""
        await self.refresh(self._pod)
        sources = {}
        for volume in self._volumes():
            with _mounting(volume):
                sources[volume["name"]] = self._source(volume)
        return sources

    @property
    def refreshable(self) -> bool:
        """Whether any volume has content from the API."""
        return bool(self._written)

    async def refresh(self, pod: Mapping[str, Any]) -> None:
        """Writes the current content of volumes from the API; `pod` is the pod as it is now. Raises ConfigMissing."""
        self._pod = pod
        for volume in self._written:
            with _mounting(volume):
                atomicwriter.write(_folder(self._own(volume)), await self._payload(volume), self._group)

    def _own(self, volume: Mapping[str, Any]) -> pathlib.Path:
        return below(self._folder / "volumes", str(volume["name"]))

    def _source(self, volume: Mapping[str, Any]) -> MountSource:
        if "hostPath" in volume:
            return MountSource(_host_path(volume["hostPath"]))
        if claim := volume.get("persistentVolumeClaim"):
            namespace: str = self._pod["metadata"]["namespace"]
            held = below(self._folder.parent.parent / "claims", namespace, str(claim["claimName"]))
            return MountSource(self._make_writable(_folder(held)), bool(claim.get("readOnly")))
        path = _folder(self._own(volume))
        return MountSource(path, True) if _from_api(volume) else MountSource(self._make_writable(path))

    def _make_writable(self, path: pathlib.Path) -> pathlib.Path:
        if self._group is not None:
            os.chown(path, -1, self._group)
        path.chmod(0o777 if self._group is None else 0o2777)
        return path

    async def _payload(self, volume: Mapping[str, Any]) -> dict[str, atomicwriter.FileProjection]:
        sources = volume["projected"].get("sources") or () if "projected" in volume else (volume,)
        default = next((part.get("defaultMode") for part in volume.values() if isinstance(part, dict)), None)
        default = _FILE_MODE if default is None else default
        more = 0 if self._group is None else 0o440
        found = {}
        for source in sources:
            for path, (content, mode) in (await self._files(source)).items():
                found[path] = atomicwriter.FileProjection(content, (default if mode is None else mode) | more)
        return found

    async def _files(self, source: Mapping[str, Any]) -> dict[str, tuple[bytes, int | None]]:
        if "configMap" in source:
            return await self._keys(source["configMap"], secret=False)
        if "secret" in source:
            return await self._keys(source["secret"], secret=True)
        if "downwardAPI" in source:
            items = source["downwardAPI"].get("items") or ()
            return {item["path"]: (self._downward(item).encode(), item.get("mode")) for item in items}
        if "serviceAccountToken" in source:
            wanted = source["serviceAccountToken"]
            return {wanted["path"]: ((await self._token(wanted)).encode(), None)}
        return {}

    async def _keys(self, source: Mapping[str, Any], *, secret: bool) -> dict[str, tuple[bytes, int | None]]:
        held = await contents(secret, source, self._lookup)
        if not source.get("items"):
            return {key: (content, None) for key, content in held.items()}
        found = {}
        for item in source["items"]:
            if item["key"] in held:
                found[item["path"]] = (held[item["key"]], item.get("mode"))
            elif not source.get("optional"):
                kind = "secret" if secret else "configmap"
                raise ConfigMissing(f"references non-existent {kind} key: {item['key']}")
        return found

    def _downward(self, item: Mapping[str, Any]) -> str:
        if "fieldRef" in item:
            return field_value(self._pod, item["fieldRef"]["fieldPath"])
        reference = item["resourceFieldRef"]
        return resource_value(resource_container(self._pod, None, reference), reference, self._capacity)


@contextmanager
def _mounting(volume: Mapping[str, Any]) -> Iterator[None]:
    """Adds the volume's name to errors, as a kubelet does."""
    try:
        yield
    except (ConfigMissing, KubeError, OSError, ValueError) as error:
        text = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}'
        raise ConfigMissing(text) from error


def _from_api(volume: Mapping[str, Any]) -> bool:
    return any(kind in volume for kind in _FROM_API)


def _folder(path: pathlib.Path) -> pathlib.Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _host_path(source: Mapping[str, Any]) -> pathlib.Path:
    path, kind = pathlib.Path(source["path"]), source.get("type") or ""
    if not path.is_absolute():
        raise ConfigMissing(f"the path {path} is not absolute")
    if kind == "DirectoryOrCreate" or (kind == "" and not path.exists()):
        path.mkdir(parents=True, exist_ok=True)
    elif kind == "FileOrCreate" and not path.exists():
        path.touch()
    wrong = (kind == "Directory" and not path.is_dir()) or (kind == "File" and not path.is_file())
    if wrong:
        raise ConfigMissing(f"hostPath type check failed: {path} is not a {kind.lower()}")
    return path


def bind_mounts(
    container: Mapping[str, Any], sources: Mapping[str, MountSource], env: Mapping[str, str]
) -> Sequence[BindMount]:
    """The volume mounts of a container. Raises StartError for a `subPath` that leads out of its volume."""
    found = []
    for mount in container.get("volumeMounts") or ():
        source, read_only = sources[mount["name"]]
        sub_path = mount.get("subPath") or expand(mount.get("subPathExpr", ""), env)
        if sub_path:
            _make_sub_path(str(source), sub_path, f'volumeMount "{mount["name"]}" of container "{container["name"]}"')
        target = os.path.normpath(mount["mountPath"])
        found.append(BindMount(str(source), target, read_only or bool(mount.get("readOnly")), sub_path))
    return found


def _make_sub_path(source: str, sub_path: str, subject: str) -> None:
    try:
        if sub_path.startswith("/") or ".." in sub_path.split("/"):
            raise ValueError(f"{sub_path} leads out of its volume")
        os.close(open_beneath(source, sub_path, make=True))
    except (OSError, ValueError) as error:
        raise StartError(f"failed to prepare subPath for {subject}: {error}") from error
