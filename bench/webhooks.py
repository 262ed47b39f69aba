"""What webhooks and policies cost: creates without, with some about other kinds, and with a webhook that is asked."""

from __future__ import annotations

import pathlib
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from bench.process import Helper, Server, helper, server
from bench.report import Figure

CLIENTS: Final = 20
EACH: Final = 300  # creates in a round
SETTLE: Final = 50  # of them before it is measured
ROUNDS: Final = 20
_API: Final = "/apis/admissionregistration.k8s.io/v1"
_HOOKS: Final = f"{_API}/validatingwebhookconfigurations"
_POLICIES: Final = f"{_API}/validatingadmissionpolicies"
_BINDINGS: Final = f"{_API}/validatingadmissionpolicybindings"


def webhooks(folder: pathlib.Path) -> list[Figure]:
    """Creates Jobs with 20 clients, in turns with webhooks and without."""
    with server(folder, ["dev"]) as running:
        cluster = running.clusters[0]
        with helper("bench.load", cluster.url, cluster.kubeconfig, str(CLIENTS)) as load, helper("bench.hook") as hook:
            load.hear()
            where = hook.hear()
            load.ask(do="namespace")
            load.ask(do="create", first=900_000, count=EACH)
            kinds: dict[str, list[tuple[float, float]]] = {"none": [], "other": [], "asked": []}
            for number in range(ROUNDS):
                for at, (kind, rounds) in enumerate(kinds.items()):
                    with _registered(load, where, kind):
                        rounds.append(_round(running, load, (number * len(kinds) + at) * EACH))
    return _figures(kinds)


@contextmanager
def _registered(load: Helper, where: dict[str, Any], kind: str) -> Iterator[None]:
    """A block in which a webhook, or a webhook and a policy about other kinds, are registered, if `kind` says so."""
    made: dict[str, dict[str, Any]] = {}
    if kind == "asked":
        made = {_HOOKS: _webhook(where, "jobs")}
    elif kind == "other":
        policy = {"matchConstraints": {"resourceRules": [_rule("cronjobs")]}, "validations": [{"expression": "true"}]}
        made = {
            _HOOKS: _webhook(where, "cronjobs"),
            _POLICIES: {"metadata": {"name": "bench"}, "spec": policy},
            _BINDINGS: {"metadata": {"name": "bench"}, "spec": {"policyName": "bench", "validationActions": ["Deny"]}},
        }
    for path, body in made.items():
        load.ask(do="post", path=path, body=body)
    yield
    for path in made:
        load.ask(do="delete", path=f"{path}/bench")


def _rule(resource: str) -> dict[str, Any]:
    return {"operations": ["*"], "apiGroups": ["batch"], "apiVersions": ["*"], "resources": [resource]}


def _webhook(where: dict[str, Any], resource: str) -> dict[str, Any]:
    hook = {
        "name": "hook.example.com", "rules": [_rule(resource)], "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": f"https://127.0.0.1:{where['port']}/", "caBundle": where["ca"]},
    }  # fmt: skip
    return {"metadata": {"name": "bench"}, "webhooks": [hook]}


def _round(running: Server, load: Helper, first: int) -> tuple[float, float]:
    """Seconds and the server's CPU for one create, once what was registered has been compiled and checked."""
    load.ask(do="create", first=first, count=SETTLE)
    begin = running.cpu()
    done = load.ask(do="create", first=first + SETTLE, count=EACH - SETTLE)
    return done["seconds"] / (EACH - SETTLE), (running.cpu() - begin) / (EACH - SETTLE)


def _figures(kinds: dict[str, list[tuple[float, float]]]) -> list[Figure]:
    seconds = {kind: statistics.median(each for each, _ in rounds) for kind, rounds in kinds.items()}
    cpu = {kind: statistics.median(each for _, each in rounds) for kind, rounds in kinds.items()}
    beside = statistics.median(other[1] / none[1] for none, other in zip(kinds["none"], kinds["other"], strict=True))
    note = f"{1 / seconds['none']:,.0f}/s without; the server alone, with a core of its own: {1 / cpu['asked']:,.0f}/s"
    return [
        Figure("Job creates with a webhook, 20 clients", 1 / seconds["asked"], "/s", 500.0, at_least=True, note=note),
        Figure("server CPU per create without webhooks", cpu["none"] * 1e6, "us"),
        Figure("more for a webhook and a policy about other kinds", (beside - 1) * 100, "%", 5.0,
               note="two lookups; the median of rounds, each compared with the one right before it"),
        Figure("more for a webhook that is asked", (cpu["asked"] - cpu["none"]) * 1e6, "us", 1500.0,
               note="the review, TLS, HTTP and the answer"),
    ]  # fmt: skip
