"""Finds a port that will probably still be free at the next start.

The kernel also uses its ephemeral ports for outgoing connections, so the port of a stopped cluster could be taken by
chance. A first start therefore chooses a port below that range, at random so that clusters of different folders do not
collide.
"""

from __future__ import annotations

import errno
import random
import socket
from typing import Final

from jobrelay.cluster.errors import PortTaken

HOST: Final = "127.0.0.1"
_BELOW_EPHEMERAL: Final = range(16_500, 20_000)
_TRIES: Final = 30


def listen(port: int) -> socket.socket:
    """A listening socket; port 0 means any free one. Raises PortTaken."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((HOST, port))
        bound.listen(1024)
    except OSError as error:
        bound.close()
        why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise PortTaken(f"port {port} on {HOST} {why}", "choose another with --port, or end what uses it") from error
    bound.setblocking(False)
    return bound


def listen_on_stable_port() -> socket.socket:
    """A listening socket on a free port outside the ephemeral range."""
    for port in random.sample(_BELOW_EPHEMERAL, _TRIES):
        try:
            return listen(port)
        except PortTaken:
            continue
    return listen(0)
