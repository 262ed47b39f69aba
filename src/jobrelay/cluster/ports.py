"""Finding a port that will still be free at the next start.

The ports that a kernel hands out by itself are also those of outgoing connections, so a cluster that was stopped could find
its own taken by chance. A first start therefore looks below that range, at random so that clusters of different folders do
not meet.
"""

from __future__ import annotations

import errno
import random
import socket
from typing import Final

from jobrelay.cluster.errors import PortTaken

HOST: Final = "127.0.0.1"
_LASTING: Final = range(16_500, 20_000)
_TRIES: Final = 30


def listen(port: int) -> socket.socket:
    """A bound socket; 0 takes any free port. Raises PortTaken."""
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


def listen_anywhere() -> socket.socket:
    """A socket on a port that suits a cluster which comes back."""
    for port in random.sample(_LASTING, _TRIES):
        try:
            return listen(port)
        except PortTaken:
            continue
    return listen(0)
