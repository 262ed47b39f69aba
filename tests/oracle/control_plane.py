"""A real control plane on loopback for the time of a test: etcd, kube-apiserver and kube-controller-manager as processes.

The binaries are looked for in $KUBEBUILDER_ASSETS, $KUBE_ORACLE and ~/.cache/kube-oracle (in a folder per version).
"""

from __future__ import annotations

import os
import pathlib
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from types import TracebackType
from typing import Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

VERSION = "v1.35.4"
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager")
TOKEN = "oracle-admin"
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "ttl-after-finished-controller",
)


def binaries() -> pathlib.Path | None:
    cache = pathlib.Path(os.environ.get("KUBE_ORACLE", "~/.cache/kube-oracle")).expanduser()
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    for folder in ([pathlib.Path(assets)] if assets else []) + [cache / VERSION]:
        if all((folder / program).exists() for program in PROGRAMS):
            return folder
    return None


class ControlPlane:
    """Context manager; `address` is `URL/TOKEN` as the comparison takes it."""

    def __init__(self, programs: pathlib.Path, folder: pathlib.Path) -> None:
        self.programs, self.folder = programs, folder
        self.ports = _free_ports(4)
        self.url = f"https://127.0.0.1:{self.ports[0]}"
        self.address = f"{self.url}/{TOKEN}"
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _start(self) -> None:
        secure, client, peer, manager = self.ports
        key, public = self._signing_keys()
        tokens = self.folder / "tokens.csv"
        tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        etcd = f"http://127.0.0.1:{client}"
        self._run(
            "etcd",
            "--data-dir",
            self.folder / "etcd",
            "--listen-client-urls",
            etcd,
            "--advertise-client-urls",
            etcd,
            "--listen-peer-urls",
            f"http://127.0.0.1:{peer}",
            "--log-level",
            "error",
        )
        self._run(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--secure-port={secure}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self.folder}/certs",
            "--authorization-mode=RBAC",
            f"--token-auth-file={tokens}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={public}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            "--max-requests-inflight=3000",
            "--max-mutating-requests-inflight=1000",
        )
        self._wait_for("/readyz")
        kubeconfig = self._kubeconfig()
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={kubeconfig}",
            f"--secure-port={manager}",
            "--bind-address=127.0.0.1",
            f"--service-account-private-key-file={key}",
            "--leader-elect=false",
            f"--controllers={','.join(CONTROLLERS)}",
            f"--root-ca-file={self.folder}/certs/apiserver.crt",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
            "--concurrent-job-syncs=10",
        )
        self._wait_for("/api/v1/namespaces/default/serviceaccounts/default")

    def _signing_keys(self) -> tuple[pathlib.Path, pathlib.Path]:
        pair = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        key, public = self.folder / "sa.key", self.folder / "sa.pub"
        key.write_bytes(
            pair.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        public.write_bytes(
            pair.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )
        return key, public

    def _kubeconfig(self) -> pathlib.Path:
        path = self.folder / "admin.kubeconfig"
        path.write_text(
            "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], "
            f"clusters: [{{name: a, cluster: {{server: '{self.url}', insecure-skip-tls-verify: true}}}}], "
            f"users: [{{name: a, user: {{token: {TOKEN}}}}}]}}"
        )
        return path

    def _run(self, program: str, *arguments: object) -> None:
        with (self.folder / f"{program}.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen([str(self.programs / program), *map(str, arguments)], stdout=log, stderr=log)
            )

    def _wait_for(self, path: str, seconds: float = 120) -> None:
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {TOKEN}"})
        trusting = ssl._create_unverified_context()
        end = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(request, context=trusting, timeout=5):
                    return
            except OSError as error:
                if time.monotonic() > end or any(process.poll() is not None for process in self.processes):
                    raise RuntimeError(f"the control plane did not answer {path}; see {self.folder}") from error
                time.sleep(0.1)

    def _stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
