from __future__ import annotations

import pytest

from jobrelay.kube.resource import JOBS, NAMESPACES, PODS, Resource


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("ns", "a", "log"), "/api/v1/namespaces/ns/pods/a/log"),
        (JOBS.path("ns"), "/apis/batch/v1/namespaces/ns/jobs"),
        (JOBS.path("ns", "a", "status"), "/apis/batch/v1/namespaces/ns/jobs/a/status"),
        (NAMESPACES.path(name="ns"), "/api/v1/namespaces/ns"),
        (Resource("g.io", "v1", "things", "Thing", False).path(name="system:x"), "/apis/g.io/v1/things/system:x"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


def test_scope_is_checked() -> None:
    with pytest.raises(ValueError, match="needs a namespace"):
        JOBS.path(name="a")
    with pytest.raises(ValueError, match="take no namespace"):
        NAMESPACES.path("ns", "a")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
def test_names_cannot_leave_their_segment(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a name"):
        JOBS.path("ns", name)


def test_resources_print_as_kubectl_names_them() -> None:
    assert str(JOBS) == "jobs.batch"
    assert str(PODS) == "pods"
    assert JOBS.api_version == "batch/v1"
    assert PODS.api_version == "v1"
