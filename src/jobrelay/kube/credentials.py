"""Credentials, which a transport asks for before each request.

Tokens are rotated, exec plugins' credentials expire and service account tokens are rewritten on disk, so a transport
holds a source of credentials instead of a credential. After a 401 it reports the rejected credential, and is told
whether there may be a newer one to retry with.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from jobrelay.logs import get_logger

from .clock import Clock, SystemClock
from .errors import CredentialsError
from .regular_file import read_regular_file
from .transport import Response

__all__ = [
    "ANONYMOUS", "Certificate", "Credential", "Credentials", "StaticCredentials", "TokenFile", "basic", "bearer",
    "with_credential",
]  # fmt: skip

log = get_logger(__name__)

_REREAD_AFTER = 60.0


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client certificate chain and its private key, both PEM."""

    chain: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Certificate(...)"


@dataclass(frozen=True, slots=True)
class Credential:
    """What authenticates one request: an Authorization header, a client certificate, both or neither."""

    authorization: str | None = None
    certificate: Certificate | None = None

    def __repr__(self) -> str:
        scheme = self.authorization.split(" ", 1)[0] if self.authorization else None
        return f"Credential(scheme={scheme}, certificate={self.certificate is not None})"


class Credentials(Protocol):
    """A source of credentials."""

    async def current(self) -> Credential:
        """The credential to use now."""
        ...

    def refused(self, credential: Credential) -> bool:
        """Report that the server responded 401; returns whether `current` may now return another credential."""
        ...


async def with_credential(credentials: Credentials, send: Callable[[Credential], Awaitable[Response]]) -> Response:
    """The response to a request that `send` makes with a credential; once more if there is a newer one after a 401."""
    credential = await credentials.current()
    response = await send(credential)
    if response.status == 401 and credentials.refused(credential):
        await response.close()
        response = await send(await credentials.current())
    return response


class StaticCredentials:
    """A credential that never changes."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        return self._credential

    def refused(self, credential: Credential) -> bool:
        return False


ANONYMOUS = StaticCredentials(Credential())


def bearer(token: str) -> str:
    """The Authorization header for a token."""
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    """The Authorization header for a user name and password."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


class TokenFile:
    """A bearer token in a file that another program rewrites; read again at most once a minute."""

    def __init__(self, path: Path, certificate: Certificate | None = None, *, clock: Clock | None = None) -> None:
        self._path = path
        self._certificate = certificate
        self._clock = clock or SystemClock()
        self._credential: Credential | None = None
        self._read_at = 0.0

    async def current(self) -> Credential:
        if self._credential is None or self._clock.monotonic() - self._read_at >= _REREAD_AFTER:
            self._credential = self._read(self._credential)
            self._read_at = self._clock.monotonic()
        return self._credential

    def refused(self, credential: Credential) -> bool:
        self._credential = self._read(self._credential)
        return self._credential != credential

    def _read(self, known: Credential | None) -> Credential:
        """Read the file; the known token is used while the file is missing or empty."""
        try:
            token = read_regular_file(self._path).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            if known is not None:
                log.warning("token file not read, using the last token", path=str(self._path), error=_problem(error))
                return known
            raise CredentialsError(f"cannot read the token file {self._path}: {_problem(error)}") from error
        if not token:
            if known is not None:
                return known
            raise CredentialsError(f"the token file {self._path} is empty")
        return Credential(bearer(token), self._certificate)


def _problem(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "it is not text"
