"""Volumes: folders and files below a pod's own folder, laid out before its containers start."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from jobrelay.cluster.node.process.environment import (
    ConfigMissing,
    Lookup,
    expand,
    field_value,
    resource_container,
    resource_value,
)

_FILE_MODE: Final = 0o644
Token = Callable[[Mapping[str, Any]], Awaitable[str]]


class Volumes:
    """Lays out the volumes of one pod. `token` issues service account tokens for projections."""

    def __init__(
        self, pod: Mapping[str, Any], folder: pathlib.Path, lookup: Lookup, token: Token, capacity: Mapping[str, str]
    ) -> None:
        self._pod, self._folder, self._lookup, self._token, self._capacity = pod, folder, lookup, token, capacity

    async def lay_out(self) -> dict[str, pathlib.Path]:
        """Makes all volumes and returns where each is. Raises ConfigMissing while something they need is missing."""
        places = {}
        for volume in self._pod["spec"].get("volumes") or ():
            places[volume["name"]] = await self._lay_out(volume)
        return places

    async def _lay_out(self, volume: Mapping[str, Any]) -> pathlib.Path:
        if "hostPath" in volume:
            return _host_path(volume["hostPath"])
        if claim := volume.get("persistentVolumeClaim"):
            namespace: str = self._pod["metadata"]["namespace"]
            return _folder(self._folder.parent.parent / "claims" / namespace / str(claim["claimName"]))
        place = _folder(self._folder / "volumes" / str(volume["name"]))
        if "emptyDir" in volume or "ephemeral" in volume:
            place.chmod(0o777)
            return place
        sources = volume["projected"].get("sources") or () if "projected" in volume else (volume,)
        default = next((part.get("defaultMode") for part in volume.values() if isinstance(part, dict)), None)
        for source in sources:
            for path, (content, mode) in (await self._files(source)).items():
                _write(place / path, content, mode if mode is not None else default)
        return place

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
        name = source.get("secretName") or source.get("name", "")
        held = await (self._lookup.secret(name) if secret else self._lookup.config_map(name))
        kind = "secret" if secret else "configmap"
        if held is None:
            if source.get("optional"):
                return {}
            raise ConfigMissing(f'{kind} "{name}" not found')
        if not source.get("items"):
            return {key: (content, None) for key, content in held.items()}
        found = {}
        for item in source["items"]:
            if item["key"] in held:
                found[item["path"]] = (held[item["key"]], item.get("mode"))
            elif not source.get("optional"):
                raise ConfigMissing(f"references non-existent {kind} key: {item['key']}")
        return found

    def _downward(self, item: Mapping[str, Any]) -> str:
        if "fieldRef" in item:
            return field_value(self._pod, item["fieldRef"]["fieldPath"])
        reference = item["resourceFieldRef"]
        return resource_value(resource_container(self._pod, None, reference), reference, self._capacity)


def _folder(path: pathlib.Path) -> pathlib.Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _write(path: pathlib.Path, content: bytes, mode: int | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode if mode is not None else _FILE_MODE)


def _host_path(source: Mapping[str, Any]) -> pathlib.Path:
    path, kind = pathlib.Path(source["path"]), source.get("type") or ""
    if kind == "DirectoryOrCreate" or (kind == "" and not path.exists()):
        path.mkdir(parents=True, exist_ok=True)
    elif kind == "FileOrCreate" and not path.exists():
        path.touch()
    wrong = (kind == "Directory" and not path.is_dir()) or (kind == "File" and not path.is_file())
    if wrong:
        raise ConfigMissing(f"hostPath type check failed: {path} is not a {kind.lower()}")
    return path


def mount_points(
    container: Mapping[str, Any], places: Mapping[str, pathlib.Path], env: Mapping[str, str]
) -> Sequence[tuple[str, str, bool]]:
    """Source, target and read-only flag of each of a container's mounts."""
    found = []
    for mount in container.get("volumeMounts") or ():
        source = places[mount["name"]]
        below = mount.get("subPath") or expand(mount.get("subPathExpr", ""), env)
        if below:
            source = source / below
            if not source.exists():
                source.mkdir(parents=True)
        found.append((str(source), os.path.normpath(mount["mountPath"]), bool(mount.get("readOnly"))))
    return found
