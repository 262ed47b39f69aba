"""What transports to the server of a `Connection` have in common: credentials for each request, and an end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from .connection import Connection
from .credentials import Credential, with_credential
from .transport import Request, Response

__all__ = ["ConnectedTransport"]


class ConnectedTransport(ABC):
    """Sends requests with the credentials of a `Connection`; to be closed after use."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, request: Request) -> Response:
        return await with_credential(self.connection.credentials, lambda each: self._send(request, each))

    @abstractmethod
    async def close(self) -> None:
        """Close all connections for good; open streams and later requests fail."""

    @abstractmethod
    async def _send(self, request: Request, credential: Credential) -> Response:
        """Send a request once, with this credential."""
