"""The Jobs that measurements create.

One is suspended and managed by another controller, with one container and its resources: the cluster only stores it.
The other runs on the cluster itself, with as many pods as completions, each of which ends as soon as it starts.
"""

from __future__ import annotations

import json
from typing import Any, Final

NAMESPACE: Final = "bench"
PATH: Final = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


def manifest(name: str, *extra: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example.com/train:1.4",
        "command": ["python", "train.py"],
        "args": ["--epochs", "3", *extra],
        "env": [{"name": "LEVEL", "value": "info"}],
        "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
    }
    labels = {"app": "bench", "kueue.x-k8s.io/queue-name": "user-queue"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "backoffLimit": 3,
            "suspend": True,
            "managedBy": "kueue.x-k8s.io/multikueue",
            "template": {
                "metadata": {"labels": {"app": "bench"}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def body(name: str, *extra: str) -> bytes:
    return json.dumps(manifest(name, *extra), separators=(",", ":")).encode()


def runnable(name: str, completions: int = 1, parallelism: int = 1) -> bytes:
    """A Job for the cluster's own controller."""
    container = {"name": "main", "image": "registry.example.com/train:1.4", "command": ["python", "train.py"]}
    spec: dict[str, Any] = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    if completions > 1:
        spec |= {"completionMode": "Indexed", "completions": completions, "parallelism": parallelism}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    return json.dumps(job, separators=(",", ":")).encode()


def request(method: str, path: str, content: bytes = b"") -> bytes:
    """A whole HTTP request, ready to be sent."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench/1.0\r\nAccept: application/json\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def creates(first: int, count: int, *, sweep: bool) -> list[bytes]:
    """Requests that create Jobs, all of one template, or as a sweep in which each has its own argument."""
    numbers = range(first, first + count)
    bodies = [body(f"job-{number:06d}", *((f"--seed={number}",) if sweep else ())) for number in numbers]
    return [request("POST", PATH, content) for content in bodies]
