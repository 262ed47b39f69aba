"""The webhooks of scenarios: a program on loopback whose answers are written in the paths that it is called by.

`{{hooks}}` in a scenario is its address, `{{hooks_port}}` its port, `{{hooks_ca}}` its CA; each server under comparison
calls one of its own. A Service `hook` of the scenario's namespace may lead to it.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from typing import Any

from aiohttp import web

from tests.loopback import LoopbackServer, server_context

JsonObject = dict[str, Any]


def says(**answer: Any) -> str:
    """The path of a webhook that gives an answer. Its parts, all optional:

    `response` (added to an allowing one), `review` (changes of the whole), `patch` (operations), `echo` (fields of the
    request that are told in `message` or `warning`), `status`, `body`, `media` (of the HTTP answer), `seconds` (to wait
    before), `close` (the connection, without an answer), `counts` (tells in a warning how often it was called).
    """
    return "/say/" + base64.urlsafe_b64encode(json.dumps(answer, sort_keys=True).encode()).decode().rstrip("=")


class WebhookProgram(LoopbackServer):
    """Answers by what `says` has made of the answer."""

    def __init__(self, namespace: str) -> None:
        super().__init__(self._answer, server_context(f"hook.{namespace}.svc"))
        self._calls: Counter[str] = Counter()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        text = request.path.removeprefix("/say/")
        answer: JsonObject = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        self._calls[request.path] += 1
        await asyncio.sleep(answer.get("seconds", 0))
        if answer.get("close"):
            assert request.transport is not None
            request.transport.abort()
        media = answer.get("media", "application/json")
        if "body" in answer:
            return web.Response(text=answer["body"], status=answer.get("status", 200), content_type=media)
        review = _review(json.loads(await request.text()), answer, self._calls[request.path])
        return web.json_response(review, status=answer.get("status", 200))


def _review(sent: JsonObject, answer: JsonObject, calls: int) -> JsonObject:
    response: JsonObject = {"uid": sent["request"]["uid"], "allowed": True, **answer.get("response", {})}
    if "patch" in answer:
        patch = json.dumps(answer["patch"]).encode()
        response = {"patch": base64.b64encode(patch).decode(), "patchType": "JSONPatch", **response}
    if "counts" in answer:
        response.setdefault("warnings", []).append(f"call {calls} of {answer['counts']}")
    for where in ("message", "warning"):
        if where in answer.get("echo", {}):
            _echo(response, where, sent, answer["echo"][where])
    return {
        "apiVersion": sent["apiVersion"],
        "kind": "AdmissionReview",
        "response": response,
        **answer.get("review", {}),
    }


def _echo(response: JsonObject, where: str, sent: JsonObject, names: list[str]) -> None:
    request = {**sent["request"], "apiVersion": sent["apiVersion"]}
    told = {name: request.get(name, "absent") for name in names or sorted(request) if name != "uid"}
    text = json.dumps(_sorted(told), sort_keys=True, separators=(",", ":"))
    if where == "message":
        response["status"] = {"message": text, "code": 400}
    else:
        response.setdefault("warnings", []).append(text)


def _sorted(value: Any) -> Any:
    """A value with its managers in a fixed order, as answers are compared."""
    if isinstance(value, dict):
        return {
            key: _sorted(sorted(one, key=_manager) if key == "managedFields" else one) for key, one in value.items()
        }
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _manager(entry: JsonObject) -> tuple[str, ...]:
    return tuple(str(entry.get(key, "")) for key in ("manager", "operation", "subresource", "apiVersion"))
