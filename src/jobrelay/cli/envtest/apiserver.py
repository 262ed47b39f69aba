"""What envtest starts as `kube-apiserver`: an embedded cluster in memory that obeys the flags which envtest gives.

Its port, its certificate and the CA of its clients are those that the flags name. The flags about etcd, about the keys
of service accounts and about admission are accepted without effect.
"""

from __future__ import annotations

import asyncio
import pathlib
import sys

from jobrelay.cli.envtest import flags
from jobrelay.cli.envtest.flags import Flags

_KNOWN = ("bind-address", "cert-dir", "client-ca-file", "secure-port", "tls-cert-file", "tls-private-key-file",
          "token-auth-file")  # fmt: skip
_CONTROLLERS = "namespace-controller"


def main(arguments: list[str]) -> None:
    if "--help" in arguments:
        flags.show_help("kube-apiserver", _KNOWN)
        return
    from jobrelay.cli.loop import run_until_stopped
    from jobrelay.cluster.errors import ClusterError

    try:
        run_until_stopped(_serve(flags.parse(arguments)))
    except ClusterError as error:
        sys.exit(f"error: {error}")


async def _serve(given: Flags) -> None:
    from jobrelay.cluster import Cluster
    from jobrelay.cluster.serving import ServingFiles

    folder = pathlib.Path(flags.last(given, "cert-dir", "/var/run/kubernetes"))
    clients = flags.last(given, "client-ca-file")
    tokens = flags.last(given, "token-auth-file")
    files = ServingFiles(
        certificate=pathlib.Path(flags.last(given, "tls-cert-file", str(folder / "apiserver.crt"))),
        key=pathlib.Path(flags.last(given, "tls-private-key-file", str(folder / "apiserver.key"))),
        client_ca=pathlib.Path(clients) if clients else None,
        tokens=pathlib.Path(tokens) if tokens else None,
    )
    port = int(flags.last(given, "secure-port", "6443"))
    async with Cluster("envtest", memory=True, port=port, controllers=_CONTROLLERS, serving=files):
        await asyncio.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
