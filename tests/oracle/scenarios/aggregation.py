"""Aggregated APIs: APIServices whose service is a program on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..model import Scenario, Step, as_user, delete, get, patch, post, put, scenario
from ..program import SUFFIX

GROUP = f"{{{{run}}}}{SUFFIX}"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAME = f"v1.{GROUP}"
PATH = f"/apis/{GROUP}/v1"
ECHOES = f"{PATH}/namespaces/{{{{ns}}}}/echoes"
SERVICE = "/api/v1/namespaces/default/services"
CONDITION = (("status",),)


def api_service(**spec: Any) -> str:
    """The port is a number, which a placeholder in quotes would not be."""
    body = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
            "service": {"namespace": "default", "name": "program-{{run}}", "port": "{{port}}"},
            **spec,
        },
    }
    return json.dumps(body).replace('"{{port}}"', "{{port}}")


def service(**spec: Any) -> dict[str, Any]:
    given = spec or {"type": "ExternalName", "externalName": "localhost"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "program-{{run}}"}, "spec": given}


def ready(**spec: Any) -> list[Step]:
    return [
        post(SERVICE, service(), pick=(("spec", "externalName"),)),
        post(SERVICES, api_service(**spec), pick=(("spec", "group"), ("status",))),
        get(PATH, until=200),
    ]


def _requests() -> list[Step]:
    return [
        get(f"{ECHOES}/a"),
        get(f"{ECHOES}?b=2&a=1&a=0&labelSelector=x%3Dy"),
        get(f"{ECHOES}/a", headers={"X-Remote-User": "root", "X-Remote-Group": "x", "X-Remote-Extra-y": "z"}),
        post(ECHOES, {"a": 1}),
        put(f"{ECHOES}/a", {"a": 2}),
        patch(f"{ECHOES}/a", {"a": 3}),
        delete(f"{ECHOES}/a"),
        get(f"{ECHOES}/code-404"),
        get(f"{ECHOES}/code-500"),
    ]


def _proxied() -> list[Step]:
    return [
        *ready(caBundle="{{ca}}"),
        get(f"{SERVICES}/{NAME}"),
        *(as_user(step, "ann", "system:masters") for step in _requests()),
        as_user(get(ECHOES), "ann"),
        as_user(get(ECHOES), "ann", "system:masters"),
        get(f"/apis/{GROUP}"),
        get(PATH),
        get(f"/apis/{GROUP}/v2"),
        as_user(get(f"{PATH}/"), "ann", "system:masters"),
        delete(f"{SERVICES}/{NAME}", pick=(("status",),)),
        get(ECHOES, until=404),
        get(f"/apis/{GROUP}", until=404),
    ]


def _insecure() -> list[Step]:
    return [
        *ready(insecureSkipTLSVerify=True),
        as_user(get(f"{ECHOES}/a"), "ann", "system:masters"),
        get(f"{SERVICES}/{NAME}", pick=CONDITION),
    ]


def _untrusted() -> list[Step]:
    return [
        post(SERVICE, service(), pick=(("spec", "externalName"),)),
        post(SERVICES, api_service(), pick=(("spec", "group"), ("status",))),
        *_settled(),
        get(f"{ECHOES}/a"),
    ]


def _settled() -> list[Step]:
    """The condition, once it was written: 409 comes from a create of what exists, which waits long enough."""
    return [post(SERVICES, api_service(), until=200, pick=(("code",),)), get(f"{SERVICES}/{NAME}", pick=CONDITION)]


def _missing() -> list[Step]:
    return [
        post(SERVICES, api_service(), pick=(("spec", "group"), ("status",))),
        *_settled(),
        get(ECHOES),
        get(PATH),
        get(f"/apis/{GROUP}"),
    ]


def _without_endpoints() -> list[Step]:
    return [
        post(SERVICE, service(ports=[{"port": 443}]), pick=(("spec", "ports"),)),
        post(
            SERVICES,
            api_service(service={"namespace": "default", "name": "program-{{run}}", "port": 443}),
            pick=(("spec", "group"), ("status",)),
        ),
        *_settled(),
        get(ECHOES),
    ]


def _wrong_port() -> list[Step]:
    return [
        post(SERVICE, service(ports=[{"port": 443}]), pick=(("spec", "ports"),)),
        post(SERVICES, api_service(), pick=(("spec", "group"), ("status",))),
        *_settled(),
    ]


def _refused() -> list[Step]:
    return [
        post(SERVICE, service(), pick=(("spec", "externalName"),)),
        post(
            SERVICES,
            api_service(service={"namespace": "default", "name": "program-{{run}}", "port": 1}),
            pick=(("spec", "group"), ("status",)),
        ),
        *_settled(),
        get(ECHOES),
    ]


def scenarios() -> Iterator[Scenario]:
    made = {
        "proxied": _proxied(),
        "insecure": _insecure(),
        "untrusted": _untrusted(),
        "missing": _missing(),
        "without-endpoints": _without_endpoints(),
        "wrong-port": _wrong_port(),
        "refused": _refused(),
    }
    for name, steps in made.items():
        yield scenario(f"aggregation-{name}", steps, [f"{SERVICES}/{NAME}", f"{SERVICE}/program-{{{{run}}}}"])
