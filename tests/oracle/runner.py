"""Plays a scenario on one server and returns its normalised answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from typing import Any

import msgspec
import yaml

from tests.loopback import ca_bundle

from . import program
from .endpoint import Endpoint, RawAnswer
from .hooks import WebhookProgram
from .model import Scenario, Step, encoded, rendered
from .normalise import Normaliser, with_sorted_causes, without_order

ALPHABET = "bcdfghjkmnpqrtvwxyz"
WAITS = 30
PATIENCE = 60.0
"""Seconds for one scenario: what is left then counts as not answered, so that a hanging server does not stop the
lane."""
NO_ANSWER = RawAnswer(0, "", (), b"no answer: out of time")
CHANNEL = {"Content-Type": "application/json"}


class Answer(msgspec.Struct, frozen=True):
    code: int
    content_type: str
    warnings: list[str]
    body: Any


def new_run() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(7))


def digest(scenario: Scenario) -> str:
    text = "\n".join(f"{step.method} {step.text()} {step.pick} {step.unordered}" for step in scenario.steps)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


async def play(scenario: Scenario, server: Endpoint, run: str) -> list[Answer]:
    """Runs all steps in order in a fresh namespace; what was made is deleted afterwards, also on errors."""
    if not any("{{hooks" in step.text() for step in scenario.steps):
        return await _play(scenario, server, run, {})
    async with WebhookProgram(f"cmp-{run}") as webhooks:
        hooks = {"hooks": f"127.0.0.1:{webhooks.port}", "hooks_port": str(webhooks.port), "hooks_ca": ca_bundle()}
        return await _play(scenario, server, run, hooks)


async def _play(scenario: Scenario, server: Endpoint, run: str, more: dict[str, str]) -> list[Answer]:
    namespace = f"cmp-{run}"
    values = {"ns": namespace, "run": run, **more}
    names = {namespace: "NS", run: "RUN", **{text: name.upper() for name, text in more.items()}}
    text = "\n".join(step.text() for step in scenario.steps)
    if program.mentions(text):
        values |= program.values()
    normaliser = Normaliser(names, text)
    try:
        await _make_namespace(server, namespace)
        answers = []
        end = time.monotonic() + PATIENCE
        for number, step in enumerate(scenario.steps):
            normaliser.begin(number, "{{run}}" in step.path)
            late = time.monotonic() > end
            answers.append(
                _normalised(NO_ANSWER, "", step, normaliser)
                if late
                else await _perform(step, server, values, normaliser)
            )
        return answers
    finally:
        for path in scenario.cleanup:
            await server.send("DELETE", rendered(path, values), {}, None)
        await server.send("DELETE", f"/api/v1/namespaces/{namespace}", {}, None)


async def _make_namespace(server: Endpoint, namespace: str) -> None:
    body = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).encode()
    await server.send("POST", "/api/v1/namespaces", CHANNEL, body)
    for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
        if path in server.missing:
            continue
        for _ in range(WAITS):
            if (await server.send("GET", f"/api/v1/namespaces/{namespace}/{path}", {}, None)).code != 404:
                break
            await asyncio.sleep(0.05)
        else:
            server.missing.add(path)


async def _perform(step: Step, server: Endpoint, values: dict[str, str], normaliser: Normaliser) -> Answer:
    body = encoded(step.body)
    if body is not None and not isinstance(step.body, bytes):
        body = rendered(body.decode(), values).encode()
    headers = {name: rendered(text, values) for name, text in step.headers.items()}
    path = rendered(step.path, values)
    raw = await server.send(step.method, path, headers, body)
    for _ in range(WAITS):
        if raw.code == 0 or _is_awaited(step, raw):
            break
        await asyncio.sleep(0.1)
        raw = await server.send(step.method, path, headers, body)
    parsed = _parsed(raw)
    for name, pointer in step.capture.items():
        values[name] = str(_at(parsed, pointer))
    return _normalised(raw, parsed, step, normaliser)


def _is_awaited(step: Step, raw: RawAnswer) -> bool:
    place, text = step.shows
    return (not step.until or raw.code == step.until) and (not place or str(_at(_parsed(raw), place)) == text)


def _parsed(raw: RawAnswer) -> Any:
    """JSON (YAML too), a list of JSON lines (a watch), or text."""
    text = raw.body.decode("utf-8", "replace")
    if "yaml" in raw.content_type:
        return yaml.safe_load(text)
    if "json" not in raw.content_type:
        return text
    try:
        value = json.loads(text)
        return [value] if isinstance(value, dict) and {*value} == {"type", "object"} else value
    except ValueError:
        pass
    try:
        return [event for event in map(json.loads, filter(None, text.splitlines())) if not _is_spare_bookmark(event)]
    except ValueError:
        return text


def _is_spare_bookmark(event: Any) -> bool:
    """A bookmark that a server may send or not; the one that closes the initial events is due."""
    if not isinstance(event, dict) or event.get("type") != "BOOKMARK":
        return False
    return "k8s.io/initial-events-end" not in json.dumps(event)


def _at(value: Any, pointer: str) -> Any:
    for part in pointer.split("."):
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict):
            value = value.get(part, "")
        else:
            return ""
    return value


def _normalised(raw: RawAnswer, parsed: Any, step: Step, normaliser: Normaliser) -> Answer:
    if step.pick:
        parsed = {"/".join(keys): _picked(parsed, keys) for keys in step.pick}
    body = with_sorted_causes(normaliser.value(parsed))
    if step.unordered:
        body = without_order(body)
    return Answer(raw.code, raw.content_type, [normaliser.text(w) for w in raw.warnings], body)


def _picked(value: Any, keys: tuple[str, ...]) -> Any:
    """Follows keys; `*` lists what is there: the sorted keys of a mapping, the names of a list's entries."""
    for key in keys:
        if key == "*":
            return sorted(value) if isinstance(value, dict) else [e.get("name") for e in value or []]
        value = value.get(key) if isinstance(value, dict) else None
    return value
