"""Credentials from an exec plugin: `users[].user.exec` of a kubeconfig.

The plugin is run with `KUBERNETES_EXEC_INFO` in its environment and prints an `ExecCredential`. That is used until it
expires or the server rejects it. Concurrent requests wait for one run of the plugin.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE

from .clock import Clock, SystemClock
from .credentials import Certificate, Credential, bearer
from .errors import CredentialsError

__all__ = ["API_VERSIONS", "ExecConfig", "ExecPlugin"]

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_LONGEST_RUN = 60.0
_MAX_OUTPUT = 1024 * 1024
_CHUNK = 64 * 1024


class _EnvVar(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class ExecConfig(msgspec.Struct, frozen=True, rename="camel"):
    """How to run the plugin, as written in a kubeconfig."""

    command: str
    api_version: str = ""
    args: list[str] | None = None
    env: list[_EnvVar] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _ExecCredentialStatus(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _ExecCredentialStatus | None = None


class ExecPlugin:
    """Runs a credential plugin when there is no valid credential."""

    def __init__(
        self, config: ExecConfig, cluster: dict[str, Any] | None = None, *, clock: Clock | None = None
    ) -> None:
        if config.api_version not in API_VERSIONS:
            raise CredentialsError(
                f"exec plugin {config.command!r}: apiVersion {config.api_version!r} is not supported; "
                f"use {API_VERSIONS[0]}"
            )
        if config.interactive_mode not in ("Never", "IfAvailable", "Always") and (
            config.interactive_mode or config.api_version == API_VERSIONS[0]
        ):
            raise CredentialsError(
                f"exec plugin {config.command!r}: interactiveMode must be Never, IfAvailable or Always, "
                f"got {config.interactive_mode!r}"
            )
        self._config = config
        self._cluster = cluster
        self._clock = clock or SystemClock()
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        self._expires: datetime | None = None

    async def current(self) -> Credential:
        async with self._lock:
            if self._credential is None or (self._expires is not None and self._clock.now() >= self._expires):
                self._credential = self._read(await self._run())
            return self._credential

    def refused(self, credential: Credential) -> bool:
        if credential == self._credential:
            self._credential = None
        return True

    async def _run(self) -> bytes:
        interactive = self._interactive()
        command = [self._config.command, *(self._config.args or ())]
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                env=self._environment(interactive),
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise self._failed(f"cannot be run: {error.strerror}") from error
        try:
            async with asyncio.timeout(None if interactive else _LONGEST_RUN):
                output = await self._output(process)
                await process.wait()
        except TimeoutError as error:
            raise self._failed(f"did not finish within {_LONGEST_RUN:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise self._failed(f"ended with exit code {process.returncode}; its own words are on standard error")
        return output

    async def _output(self, process: asyncio.subprocess.Process) -> bytes:
        """What the plugin prints; if that is too much it is killed, and the rest is dropped."""
        assert process.stdout is not None
        output = bytearray()
        while chunk := await process.stdout.read(_CHUNK):
            if len(output) > _MAX_OUTPUT:
                continue
            output += chunk
            if len(output) > _MAX_OUTPUT:
                process.kill()
        if len(output) > _MAX_OUTPUT:
            raise self._failed(f"printed more than {_MAX_OUTPUT} bytes")
        return bytes(output)

    def _interactive(self) -> bool:
        mode = self._config.interactive_mode or "IfAvailable"
        terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if mode == "Always" and not terminal:
            raise self._failed("needs a terminal (interactiveMode: Always), and there is none")
        return terminal and mode != "Never"

    def _environment(self, interactive: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._config.provide_cluster_info and self._cluster is not None:
            spec["cluster"] = self._cluster
        info = {"kind": "ExecCredential", "apiVersion": self._config.api_version, "spec": spec}
        own = {variable.name: variable.value for variable in self._config.env or ()}
        return {**os.environ, **own, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}

    def _read(self, output: bytes) -> Credential:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except UNREADABLE as error:
            raise self._failed(f"did not print an ExecCredential: {error}") from error
        if answer.api_version != self._config.api_version:
            raise self._failed(f"is configured for {self._config.api_version} but answered {answer.api_version!r}")
        status = answer.status or _ExecCredentialStatus()
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._failed("returned only one of certificate and key")
        if not status.token and not status.client_key_data:
            raise self._failed("returned neither a token nor a certificate")
        expires = status.expiration_timestamp
        self._expires = expires.replace(tzinfo=UTC) if expires and expires.tzinfo is None else expires
        certificate = None
        if status.client_key_data:
            certificate = Certificate(status.client_certificate_data.encode(), status.client_key_data.encode())
        return Credential(bearer(status.token) if status.token else None, certificate)

    def _failed(self, what: str) -> CredentialsError:
        hint = ""
        if self._config.install_hint and shutil.which(self._config.command) is None:
            hint = f"\n{self._config.install_hint.strip()}"
        return CredentialsError(f"exec plugin {self._config.command!r} {what}{hint}")
