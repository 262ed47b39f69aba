"""A real Kubernetes cluster without machines, on loopback: etcd, kube-apiserver and kube-controller-manager as
processes.

RBAC and service accounts are on, and tokens are bound. Pods start and end once nodes are added (`nodes.py`).

Everything ends with its block, also when it fails. Should this process be killed, a guardian that holds the other end
of a pipe notices and kills the whole process group.
"""

from __future__ import annotations

import base64
import contextlib
import json
import pathlib
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Final, cast

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from jobrelay.kube.pki import Authority, make_authority

TOKEN: Final = "admin-of-a-test"
OTHER, OTHER_TOKEN = "other", "other-admin-of-a-test"
"""A second administrator, so that an audit can tell two of them apart."""
CONTROLLERS: Final = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "pod-garbage-collector-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "ttl-after-finished-controller",
    "volumeattributesclass-protection-controller",
)
START_SECONDS: Final = 180


class ControlPlane:
    """One cluster. `kubeconfig` is its administrator's, `address` the same as `URL/TOKEN`."""

    def __init__(self, name: str, programs: pathlib.Path, folder: pathlib.Path, *, audited: bool = False) -> None:
        self.name, self.programs, self.folder, self.audited = name, programs, folder, audited
        self.ports = _free_ports(3)
        self.url = f"https://127.0.0.1:{self.ports[0]}"
        self.address = f"{self.url}/{TOKEN}"
        self.kubeconfig = folder / f"{name}.kubeconfig"
        self._key, self._public = folder / "accounts.key", folder / "accounts.pub"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._group = 0
        self._guardian: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start etcd and the API server, without waiting for them."""
        secure, client, peer = self.ports
        self._write_signing_keys()
        tokens = self.folder / "tokens.csv"
        administrators = {"admin": TOKEN, OTHER: OTHER_TOKEN}
        tokens.write_text("".join(f'{token},{who},{who},"system:masters"\n' for who, token in administrators.items()))
        etcd = f"http://127.0.0.1:{client}"
        self._run(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
            "--log-level=error",
        )
        front = self._write_front_proxy()
        self._run(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--secure-port={secure}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self.folder / 'certificates'}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={tokens}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._public}",
            f"--service-account-signing-key-file={self._key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            "--max-requests-inflight=3000",
            "--max-mutating-requests-inflight=1000",
            *front,
            *(self._write_audit_policy() if self.audited else ()),
        )

    def wait(self) -> None:
        """Wait for the API server."""
        self._wait_for("/readyz")

    def finish(self) -> None:
        """Wait for the API server, then start the controllers, and wait until they work."""
        self.wait()
        self._write_kubeconfig()
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            "--secure-port=0",
            "--bind-address=127.0.0.1",
            f"--service-account-private-key-file={self._key}",
            "--leader-elect=false",
            f"--controllers={','.join(CONTROLLERS)}",
            f"--root-ca-file={self._authority()}",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
            "--concurrent-job-syncs=10",
        )
        self._wait_for("/api/v1/namespaces/default/serviceaccounts/default")

    @property
    def pids(self) -> dict[str, int]:
        """The processes by program, for whoever measures or hurts them."""
        return {program: process.pid for program, process in self._processes.items()}

    def restart(self, program: str) -> None:
        """Kill a program and start it as before; `wait` then waits for it."""
        process = self._processes.pop(program)
        process.kill()
        process.wait()
        self._start([str(part) for part in cast("list[str]", process.args)])

    def stop(self) -> None:
        """End everything at once: nobody will want what is stored."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
        self._processes.clear()
        if self._guardian is not None:
            self._guardian.kill()
            assert self._guardian.stdin is not None
            self._guardian.stdin.close()
            self._guardian.wait()
            self._guardian = None

    def _authority(self) -> pathlib.Path:
        """What signed the API server's certificate, which is the last in its file."""
        return self.folder / "certificates" / "apiserver.crt"

    def _write_signing_keys(self) -> None:
        pair = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        self._key.write_bytes(pair.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
        self._public.write_bytes(pair.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo))

    def _write_front_proxy(self) -> list[str]:
        """The certificates by which aggregated API servers know this one, and the options that name them."""
        authority = Authority(make_authority("front-proxy-ca"))
        client = authority.client("front-proxy-client", ())
        files = {"ca.crt": authority.pair.certificate, "client.crt": client.certificate, "client.key": client.key}
        for name, text in files.items():
            (self.folder / f"front-proxy-{name}").write_bytes(text)
        return [
            f"--requestheader-client-ca-file={self.folder / 'front-proxy-ca.crt'}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            f"--proxy-client-cert-file={self.folder / 'front-proxy-client.crt'}",
            f"--proxy-client-key-file={self.folder / 'front-proxy-client.key'}",
        ]

    @property
    def audit_log(self) -> pathlib.Path:
        """Where the API server notes each write that it has answered, if it is audited: a line of JSON."""
        return self.folder / "audit.log"

    def _write_audit_policy(self) -> list[str]:
        policy = self.folder / "audit.json"
        verbs = ["create", "update", "patch", "delete", "deletecollection"]
        rules = [{"level": "Metadata", "verbs": verbs}, {"level": "None"}]
        whole = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}
        policy.write_text(json.dumps({**whole, "omitStages": ["RequestReceived"], "omitManagedFields": True}))
        return [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit_log}"]

    def _write_kubeconfig(self) -> None:
        authority = base64.b64encode(self._authority().read_bytes()).decode()
        cluster = {"server": self.url, "certificate-authority-data": authority}
        context = {"cluster": self.name, "user": "admin"}
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": self.name,
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
            "contexts": [{"name": self.name, "context": context}],
        }  # fmt: skip
        self.kubeconfig.write_text(json.dumps(config))

    def _run(self, program: str, *arguments: str) -> None:
        self._start([str(self.programs / program), *arguments])

    def _start(self, line: list[str]) -> None:
        program = pathlib.Path(line[0]).name
        with (self.folder / f"{program}.log").open("ab") as log:
            process = subprocess.Popen(
                line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=self._group
            )
        self._processes[program] = process
        if self._guardian is None:
            self._group = process.pid
            script = f"read -r _; kill -s KILL -- -{self._group}"
            self._guardian = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, process_group=0)

    def _wait_for(self, path: str) -> None:
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {TOKEN}"})
        trusting = ssl._create_unverified_context()
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(request, context=trusting, timeout=5):
                    return
            except OSError as error:
                if any(each.poll() is not None for each in self._processes.values()) or time.monotonic() > end:
                    raise RuntimeError(f"{self.name} did not answer {path}\n{self._logs()}") from error
                time.sleep(0.1)

    def _logs(self) -> str:
        """The last words of every program."""
        return "\n".join(f"{path.name}: ...{path.read_text()[-2000:]}" for path in sorted(self.folder.glob("*.log")))


@contextlib.contextmanager
def control_planes(
    names: Sequence[str], programs: pathlib.Path, folder: pathlib.Path, *, audited: bool = False
) -> Iterator[dict[str, ControlPlane]]:
    """Running clusters by name; they start side by side. The writes of `audited` ones are noted."""
    found: dict[str, ControlPlane] = {}
    with contextlib.ExitStack() as stack:
        for name in names:
            (folder / name).mkdir(parents=True, exist_ok=True)
            found[name] = ControlPlane(name, programs, folder / name, audited=audited)
            stack.callback(found[name].stop)
            found[name].begin()
        for plane in found.values():
            plane.finish()
        yield found


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
