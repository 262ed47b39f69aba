"""What envtest starts as `etcd`: it is healthy, and nothing more. What stands for kube-apiserver keeps the objects."""

from __future__ import annotations

import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from jobrelay.cli.envtest import flags

_KNOWN = ("listen-client-urls",)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        healthy = self.path == "/health"
        self.send_response(200 if healthy else 404)
        self.end_headers()
        self.wfile.write(b'{"health":"true"}' if healthy else b"not found\n")

    def log_message(self, *_: Any) -> None:
        return None


def main(arguments: list[str]) -> None:
    if "--help" in arguments:
        flags.show_help("etcd", _KNOWN)
        return
    url = urlsplit(flags.last(flags.parse(arguments), "listen-client-urls", "http://127.0.0.1:2379"))
    server = ThreadingHTTPServer((url.hostname or "127.0.0.1", url.port or 2379), _Handler)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
