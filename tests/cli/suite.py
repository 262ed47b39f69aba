"""A suite as envtest's users have: it finds its cluster by the environment, or starts one from the programs there."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request

from jobrelay.kube.pki import Authority, make_authority


def existing() -> int:
    """Lists namespaces of the cluster that KUBECONFIG names."""
    from jobrelay.kube import connect
    from jobrelay.kube.resource import NAMESPACES

    async def names() -> list[str]:
        async with connect(pathlib.Path(os.environ["KUBECONFIG"])) as client:
            return [each.name for each in (await client.list(NAMESPACES)).items]

    print(os.environ["USE_EXISTING_CLUSTER"], *asyncio.run(names()))
    return 3


def own(folder: pathlib.Path) -> int:
    """Starts etcd and kube-apiserver with envtest's flags, and asks as a user of its own CA."""
    assets = pathlib.Path(os.environ["KUBEBUILDER_ASSETS"])
    assert (
        "insecure-port"
        not in subprocess.run([assets / "kube-apiserver", "--help"], check=True, capture_output=True, text=True).stdout
    )
    serving, clients = Authority(make_authority("serving")), Authority(make_authority("clients"))
    for name, pair in {
        "apiserver": serving.server(("127.0.0.1",)),
        "client": clients.client("admin", ["system:masters"]),
    }.items():
        (folder / f"{name}.crt").write_bytes(pair.certificate)
        (folder / f"{name}.key").write_bytes(pair.key)
    (folder / "clients.crt").write_bytes(clients.pair.certificate)
    etcd, api = _free_ports(2)
    running = [
        subprocess.Popen([assets / "etcd", f"--listen-client-urls=http://127.0.0.1:{etcd}"]),
        subprocess.Popen([
            assets / "kube-apiserver", f"--cert-dir={folder}", f"--client-ca-file={folder / 'clients.crt'}",
            f"--secure-port={api}", "--bind-address=127.0.0.1", f"--etcd-servers=http://127.0.0.1:{etcd}",
            "--disable-admission-plugins=ServiceAccount", "--authorization-mode=RBAC", "--allow-privileged=true",
        ]),
    ]  # fmt: skip
    context = ssl.create_default_context(cadata=serving.pair.certificate.decode())
    context.load_cert_chain(folder / "client.crt", folder / "client.key")
    try:
        print(_get(f"http://127.0.0.1:{etcd}/health", None), _get(f"https://127.0.0.1:{api}/healthz", context))
        print(len(_get(f"https://127.0.0.1:{api}/api/v1/namespaces/kube-system/secrets", context)) > 0)
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(20) for process in running]
    print(codes)
    return 0


def _get(url: str, context: ssl.SSLContext | None) -> str:
    end = time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(url, context=context) as answer:
                return str(answer.read().decode())
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


if __name__ == "__main__":
    sys.exit(existing() if sys.argv[1] == "existing" else own(pathlib.Path(sys.argv[2])))
