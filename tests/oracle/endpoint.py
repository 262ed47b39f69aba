"""One server under comparison: where it is, how to authenticate, and one method that sends a request and reads it
all."""

from __future__ import annotations

import base64
import io
import pathlib
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import aiohttp
import yaml
from yarl import URL

USER_AGENT = "compare/1.0"


_LARGE = 1 << 20  # above that aiohttp wants a file


@dataclass(frozen=True)
class RawAnswer:
    code: int
    content_type: str
    warnings: tuple[str, ...]
    body: bytes


class Endpoint:
    def __init__(self, url: str, token: str = "", tls: ssl.SSLContext | None = None) -> None:
        self.url = url.rstrip("/")
        self.token = token
        self.tls = tls or _trusting()
        self.missing: set[str] = set()
        """What this server was found not to put into a new namespace: not waited for again."""
        self.session: aiohttp.ClientSession | None = None
        self.nobody: aiohttp.ClientSession | None = None
        """Connections without a client certificate, for requests that bring their own credentials."""

    @classmethod
    def from_text(cls, text: str) -> Endpoint:
        """`URL/TOKEN` (`https://127.0.0.1:26000/secret`) or the path of a kubeconfig."""
        if not text.startswith(("http://", "https://")):
            return cls.from_kubeconfig(pathlib.Path(text))
        url, _, token = text.rpartition("/") if text.count("/") > 2 else (text, "", "")
        return cls(url, token)

    @classmethod
    def from_kubeconfig(cls, path: pathlib.Path) -> Endpoint:
        config = yaml.safe_load(path.read_text())
        context = next(c["context"] for c in config["contexts"] if c["name"] == config["current-context"])
        cluster = next(c["cluster"] for c in config["clusters"] if c["name"] == context["cluster"])
        user = next(u["user"] for u in config["users"] if u["name"] == context["user"])
        tls = _trusting()
        certificate, key = _material(user, "client-certificate", path), _material(user, "client-key", path)
        if certificate and key:
            with tempfile.TemporaryDirectory() as folder:
                pair = pathlib.Path(folder) / "pair.pem"
                pair.write_bytes(certificate + b"\n" + key)
                tls.load_cert_chain(pair)
        return cls(cluster["server"], user.get("token", ""), tls)

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=12)
        self.session = aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(ssl=self.tls))
        self.nobody = aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(ssl=_trusting()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in (self.session, self.nobody):
            if session is not None:
                await session.close()

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> RawAnswer:
        assert self.session is not None
        assert self.nobody is not None
        session = self.nobody if "Authorization" in headers else self.session
        sent = {"User-Agent": USER_AGENT, **headers}
        if self.token and "Authorization" not in sent:
            sent["Authorization"] = f"Bearer {self.token}"
        if sent.get("Authorization") == "none":
            del sent["Authorization"]
        try:
            async with session.request(
                method,
                URL(self.url + path, encoded=True),
                headers=sent,
                data=io.BytesIO(body) if body is not None and len(body) > _LARGE else body,
                allow_redirects=False,
                skip_auto_headers=("Content-Type", "Accept-Encoding"),
            ) as response:
                payload = await response.read()
                warnings = tuple(response.headers.getall("Warning", []))
                return RawAnswer(response.status, response.headers.get("Content-Type", ""), warnings, payload)
        except (TimeoutError, aiohttp.ClientError, ConnectionError) as error:
            return RawAnswer(0, "", (), f"no answer: {type(error).__name__}".encode())


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _material(user: dict[str, Any], key: str, kubeconfig: pathlib.Path) -> bytes | None:
    if f"{key}-data" in user:
        return base64.b64decode(user[f"{key}-data"])
    return (kubeconfig.parent / user[key]).read_bytes() if key in user else None
