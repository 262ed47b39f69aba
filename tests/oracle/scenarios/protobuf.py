"""Protobuf request bodies, as client-go and kubectl send them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import PROTOBUF, Scenario, Step, get, post, put, request, scenario
from ._objects import CONFIGMAPS, CORE, CRONJOBS, JOBS, LEASES, PODS, SECRETS
from ._protobuf import MAGIC, Message, encode, entry, envelope

MARKED = PROTOBUF


def meta(name: str, *more: tuple[int, Any]) -> Message:
    return [(1, name), *more]


def _container(name: str = "c", *more: tuple[int, Any]) -> Message:
    return [(1, name), (2, "img:1"), *more]


def _pod_spec(*more: tuple[int, Any]) -> Message:
    return [(2, _container()), (3, "Never"), *more]


def _send(path: str, body: bytes, method: str = "POST", **more: Any) -> Step:
    return request(method, path, body, MARKED, **more)


def _configmap(name: str, *more: tuple[int, Any]) -> bytes:
    return envelope("v1", "ConfigMap", [(1, meta(name)), *more])


def _job(name: str, *spec: tuple[int, Any]) -> bytes:
    template: Message = [(1, []), (2, _pod_spec())]
    return envelope("batch/v1", "Job", [(1, meta(name)), (2, [(6, template), (15, "example.com/x"), *spec])])


def _kinds() -> Iterator[Step]:
    yield _send(CONFIGMAPS, _configmap("a", (2, entry("k", "v")), (2, entry("l", "w")), (3, entry("b", b"\x00\x01"))))
    yield _send(CONFIGMAPS, _configmap("b", (4, True)))
    yield _send(
        CONFIGMAPS,
        envelope(
            "v1", "ConfigMap", [(1, [(1, "c"), (11, entry("label", "x")), (12, entry("note", "y")), (14, "a.b/fin")])]
        ),
    )
    yield _send(f"{CONFIGMAPS}/a", _configmap("a", (2, entry("k", "changed"))), "PUT")
    yield _send(SECRETS, envelope("v1", "Secret", [(1, meta("s")), (2, entry("k", b"secret")), (3, "Opaque")]))
    yield _send(SECRETS, envelope("v1", "Secret", [(1, meta("s2")), (4, entry("k", "text"))]))
    yield _send(PODS, envelope("v1", "Pod", [(1, meta("p")), (2, _pod_spec((4, 5), (7, entry("disk", "ssd"))))]))
    yield _send(
        PODS,
        envelope(
            "v1",
            "Pod",
            [
                (1, meta("p2")),
                (
                    2,
                    [
                        (
                            2,
                            _container(
                                "c",
                                (3, "sh"),
                                (4, "-c"),
                                (7, [(1, "A"), (2, "1")]),
                                (6, [(1, "web"), (3, 80)]),
                                (8, [(1, [(1, "cpu"), (2, [(1, "1")])])]),
                            ),
                        )
                    ],
                ),
            ],
        ),
    )
    yield _send(JOBS, _job("j"))
    yield _send(JOBS, _job("j2", (1, 2), (2, 3), (7, 0), (9, "Indexed"), (10, True), (12, 1)))
    yield _send(JOBS, _job("j3", (1, -1), (9, "Bad")))
    yield _send(JOBS, _job("j4", (11, [(1, [(1, "FailJob"), (2, [(1, "c"), (2, "In"), (3, 1), (3, 2)])])])))
    yield _send(
        CRONJOBS,
        envelope(
            "batch/v1",
            "CronJob",
            [(1, meta("cj")), (2, [(1, "0 0 1 1 *"), (4, True), (5, [(2, [(6, [(2, _pod_spec())])])])])],
        ),
    )
    yield _send(
        LEASES,
        envelope(
            "coordination.k8s.io/v1",
            "Lease",
            [
                (1, meta("l")),
                (
                    2,
                    [
                        (1, "holder"),
                        (2, 15),
                        (3, [(1, 1704067200), (2, 5000)]),
                        (4, [(1, 1704067200), (2, 123456000)]),
                        (5, 0),
                    ],
                ),
            ],
        ),
    )
    yield _send(f"{CORE}/serviceaccounts", envelope("v1", "ServiceAccount", [(1, meta("sa")), (4, False)]))
    yield _send(
        f"{CORE}/services",
        envelope(
            "v1",
            "Service",
            [
                (1, meta("svc")),
                (
                    2,
                    [
                        (1, [(2, "TCP"), (3, 80), (4, [(1, 1), (2, 0), (3, "http")])]),
                        (2, entry("a", "b")),
                        (3, "None"),
                        (4, "ClusterIP"),
                    ],
                ),
            ],
        ),
    )
    yield _send(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{{ns}}/roles",
        envelope("rbac.authorization.k8s.io/v1", "Role", [(1, meta("r")), (2, [(1, "get"), (2, ""), (3, "pods")])]),
    )
    yield _send(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        envelope(
            "authorization.k8s.io/v1", "SelfSubjectAccessReview", [(1, []), (2, [(1, [(2, "get"), (5, "pods")])])]
        ),
    )
    yield _send(
        f"{CORE}/serviceaccounts/default/token",
        envelope("authentication.k8s.io/v1", "TokenRequest", [(1, []), (2, [(4, 600)])]),
    )
    yield _send(f"{PODS}/p2/eviction", envelope("policy/v1", "Eviction", [(1, meta("p2"))]))
    yield _send(f"{JOBS}/j/status", envelope("batch/v1", "Job", [(1, meta("j")), (3, [(4, 1), (9, 1)])]), "PUT")
    yield _send(
        "/apis/apps/v1/namespaces/{{ns}}/deployments",
        envelope(
            "apps/v1",
            "Deployment",
            [
                (1, meta("d")),
                (
                    2,
                    [
                        (1, 2),
                        (2, [(1, entry("a", "b"))]),
                        (3, [(1, [(11, entry("a", "b"))]), (2, [(2, _container())])]),
                        (4, [(1, "RollingUpdate"), (2, [(1, [(1, 1), (2, 0), (3, "25%")])])]),
                    ],
                ),
            ],
        ),
    )
    for path in (f"{CONFIGMAPS}/a", f"{SECRETS}/s", f"{PODS}/p", f"{JOBS}/j2", f"{LEASES}/l"):
        yield get(path)


def _odd() -> Iterator[Step]:
    good = _configmap("x")
    for body in (
        b"",
        MAGIC,
        b"k8s",
        MAGIC + b"\xff",
        good[4:],
        good[:-3],
        good + b"\xff",
        envelope("", "", [(1, meta("x"))]),
        envelope("v1", "Pod", [(1, meta("x"))]),
        envelope("v1", "Nothing", [(1, meta("x"))]),
        envelope("v9", "ConfigMap", [(1, meta("x"))]),
        envelope("v1", "ConfigMap", b""),
        envelope("v1", "ConfigMap", b"\x0a\xff"),
        envelope("v1", "ConfigMap", [(99, "unknown"), (1, meta("unknown"))]),
        envelope("v1", "ConfigMap", [(1, 5)]),
        MAGIC + encode([(2, b"")]),
        envelope("v1", "ConfigMap", b'{"metadata":{"name":"json"}}', "application/json"),
        envelope("v1", "ConfigMap", [(1, meta("strict")), (77, "x")]),
    ):
        yield _send(CONFIGMAPS, body)
    yield _send(f"{CONFIGMAPS}?fieldValidation=Strict", envelope("v1", "ConfigMap", [(1, meta("strict2")), (77, "x")]))
    yield _send(CONFIGMAPS, _configmap("type-given"), headers={"Content-Type": PROTOBUF + ";type=v1.ConfigMap"})
    yield _send(CONFIGMAPS, encode([(1, meta("bare"))]), headers={"Content-Type": PROTOBUF + ";type=v1.ConfigMap"})
    yield _send(f"{CONFIGMAPS}/x", _configmap("y"), "PUT")
    yield post(CONFIGMAPS, '{"metadata":{"name":"del"}}')
    yield _send(f"{CONFIGMAPS}/del", envelope("v1", "DeleteOptions", [(4, "Background"), (5, "All")]), "DELETE")
    yield _send(f"{CONFIGMAPS}/del", envelope("meta.k8s.io/v1", "DeleteOptions", [(2, [(1, "wrong")])]), "DELETE")
    yield _send(f"{CONFIGMAPS}/del", envelope("", "", [(1, 0)]), "DELETE")
    yield _send("/apis/{{run}}.example.com/v1/namespaces/{{ns}}/things", _configmap("x"))
    yield put(f"{CONFIGMAPS}/none", _configmap("none"), MARKED)
    yield _send(CONFIGMAPS, _configmap("json-answer"), headers={"Content-Type": PROTOBUF, "Accept": "application/json"})


def scenarios() -> Iterator[Scenario]:
    yield scenario("protobuf-kinds", _kinds())
    yield scenario("protobuf-odd", _odd())
