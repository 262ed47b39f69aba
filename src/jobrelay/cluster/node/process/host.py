"""What all pods of runtime `process` share: API client, launcher, event recorder, folders and base environment."""

from __future__ import annotations

import base64
import os
import pathlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from jobrelay.cluster.node.process.launcher import Launcher
from jobrelay.cluster.node.process.names import below
from jobrelay.cluster.node.process.oomkiller import OomKiller
from jobrelay.kube import Client
from jobrelay.kube.clock import Clock
from jobrelay.kube.errors import NotFound
from jobrelay.kube.events import EventRecorder
from jobrelay.kube.resource import CONFIGMAPS, SECRETS, SERVICEACCOUNTS, SERVICES, Resource

_INHERITED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "VIRTUAL_ENV", "SSL_CERT_FILE")
_TOKEN_REFRESH: Final = 0.8  # of a token's lifetime
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(slots=True)
class PodHost:
    """What a node provides to its pods."""

    client: Client
    clock: Clock
    launcher: Launcher
    recorder: EventRecorder
    folder: pathlib.Path
    capacity: Mapping[str, str]
    oom_killer: OomKiller = field(default_factory=OomKiller)
    api_address: str = ""  # host:port where pods reach the API server
    bash: str = field(default_factory=lambda: shutil.which("bash") or "")
    _announced: bool = False

    @property
    def _shells(self) -> pathlib.Path:
        return self.folder / "shells"

    def announce_limits(self) -> bool:
        """Whether the differences to a real node still have to be reported: True once."""
        first, self._announced = not self._announced, True
        return first

    def base_env(self, pod: Mapping[str, Any]) -> dict[str, str]:
        """The variables that every container of a pod gets."""
        env = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        env.setdefault("PATH", _PATH)
        env["HOSTNAME"] = pod["spec"].get("hostname") or pod["metadata"]["name"]
        if self.bash and not self.launcher.mounts:
            env["PATH"] = f"{self._shells}:{env['PATH']}"
        if self.api_address:
            host, _, port = self.api_address.rpartition(":")
            env |= {
                "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "KUBERNETES_SERVICE_PORT_HTTPS": port,
                "KUBERNETES_PORT": f"tcp://{host}:{port}", "KUBERNETES_PORT_443_TCP": f"tcp://{host}:{port}",
                "KUBERNETES_PORT_443_TCP_ADDR": host, "KUBERNETES_PORT_443_TCP_PORT": port,
                "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
            }  # fmt: skip
        return env

    def prepare(self) -> None:
        """Creates the folders, and a `sh` that is bash for machines where containers cannot have their own mounts."""
        (self.folder / "pods").mkdir(parents=True, exist_ok=True)
        if self.bash:
            self._shells.mkdir(exist_ok=True)
            link = self._shells / "sh"
            if not link.is_symlink():
                link.symlink_to(self.bash)

    def pod_folder(self, uid: str) -> pathlib.Path:
        return below(self.folder / "pods", uid)


class ReferencedObjects:
    """The objects of its namespace that a pod refers to, and its tokens, read from the API when they are needed."""

    def __init__(self, client: Client, clock: Clock, namespace: str) -> None:
        self._client, self._clock, self._namespace = client, clock, namespace
        self._tokens: dict[tuple[str, int], tuple[str, float]] = {}

    async def config_map(self, name: str) -> Mapping[str, bytes] | None:
        found = await self._get(CONFIGMAPS, name)
        if found is None:
            return None
        texts = {key: value.encode() for key, value in (found.get("data") or {}).items()}
        return texts | {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}

    async def secret(self, name: str) -> Mapping[str, bytes] | None:
        found = await self._get(SECRETS, name)
        if found is None:
            return None
        return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}

    async def _get(self, resource: Resource, name: str) -> dict[str, Any] | None:
        try:
            return (await self._client.get(resource, name, self._namespace)).decode()
        except NotFound:
            return None

    async def services(self) -> list[dict[str, Any]]:
        return [service.decode() for service in (await self._client.list(SERVICES, self._namespace)).items]

    async def token(self, pod: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
        """A service account token bound to the pod, replaced when most of its lifetime is over."""
        audience, seconds = wanted.get("audience", ""), wanted.get("expirationSeconds") or 3600
        token, until = self._tokens.get((audience, seconds), ("", 0.0))
        if not token or self._clock.monotonic() >= until:
            token = await self._new_token(pod, audience, seconds)
            self._tokens[audience, seconds] = token, self._clock.monotonic() + _TOKEN_REFRESH * seconds
        return token

    async def _new_token(self, pod: Mapping[str, Any], audience: str, seconds: int) -> str:
        reference = {
            "kind": "Pod", "apiVersion": "v1", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"],
        }  # fmt: skip
        spec = {"expirationSeconds": seconds, "boundObjectRef": reference, "audiences": [audience] if audience else []}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        account = pod["spec"].get("serviceAccountName") or "default"
        path = SERVICEACCOUNTS.path(self._namespace, account, "token")
        raw = await self._client.call("POST", path, body=msgspec.json.encode(body))
        token: str = msgspec.json.decode(raw)["status"]["token"]
        return token
