"""Makes what two runs of a manager have left comparable."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.oracle.job_scripts.picture import neutral
from tests.oracle.normalise import Normaliser

from .managers import Obj
from .story import NAMESPACE, Story


def picture(story: Story, varying: Mapping[str, str]) -> Obj:
    """The objects of a story, without uids, times, versions, ports, keys and random parts of names.

    Uids keep their identity: an owner reference to another object than on the other cluster is a difference.
    """
    objects, left = _replaced(story.objects, varying), _replaced(story.left, varying)
    normaliser = Normaliser({}, json.dumps(_generate_names(objects)))
    return {
        "objects": _pictured(objects, normaliser),
        "left": _pictured(left, normaliser),
        "refusal": normaliser.value(_replaced(story.refusal, varying)),
    }


def _pictured(objects: dict[str, list[Obj]], normaliser: Normaliser) -> dict[str, list[Obj]]:
    """Numbers of uids begin anew with each resource, so that one difference does not rename all that follows."""
    shown = {}
    for resource in sorted(objects):
        normaliser.begin(len(shown))
        listed = sorted((_shown(each, resource) for each in objects[resource]), key=_order)
        shown[resource] = [normaliser.value(each) for each in listed]
    return shown


def _replaced(value: Any, varying: Mapping[str, str]) -> Any:
    text = json.dumps(value)
    for pattern, shown in varying.items():
        text = re.sub(pattern, shown, text)
    return json.loads(text)


def _generate_names(objects: dict[str, list[Obj]]) -> list[Obj]:
    names = {each["metadata"].get("generateName", "") for listed in objects.values() for each in listed}
    return [{"generateName": name} for name in sorted(names - {""})]


def _order(obj: Obj) -> str:
    return json.dumps(neutral(obj, NAMESPACE), sort_keys=True)


def _shown(obj: Obj, resource: str) -> Obj:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    shown: Obj = _without_addresses({**obj, "metadata": metadata})
    if resource.endswith("/secrets"):
        shown["data"] = dict.fromkeys(obj.get("data", ()), "SECRET")
    return shown


def _without_addresses(value: Any) -> Any:
    """Ports and certificates of webhooks are those of one run."""
    if isinstance(value, list):
        return [_without_addresses(each) for each in value]
    if not isinstance(value, dict):
        return value
    shown = {key: _without_addresses(each) for key, each in value.items() if key != "caBundle"}
    if isinstance(shown.get("service"), dict):
        shown["service"] = {key: each for key, each in shown["service"].items() if key != "port"}
    return shown
