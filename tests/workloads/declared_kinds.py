"""Objects of the declared kinds: an original of each, and how its status goes, from the files in `kinds/`.

The mirrors in `golden/` are written by `python -m tests.workloads.declared_kinds`, to be looked at before they are
committed.
"""

from __future__ import annotations

import copy
import datetime as dt
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml as pyyaml

from jobrelay.apimachinery import yaml
from jobrelay.kube import Object
from jobrelay.kube.objects import decode_object
from jobrelay.workloads import Adapter, MirrorParameters
from jobrelay.workloads.builtin import built_in_adapters

Obj = dict[str, Any]
FOLDER = Path(__file__).parent
ADAPTERS = {adapter.resource.kind.lower(): adapter for adapter in built_in_adapters() if adapter.resource.kind != "Job"}
KINDS = sorted(ADAPTERS)
PARAMETERS = MirrorParameters("manager", 3, "mirror", proof="proof")
NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
CREATED = "2026-01-01T11:59:00Z"


@cache
def case(kind: str) -> Obj:
    """The file of a kind."""
    found: Obj = yaml.load((FOLDER / "kinds" / f"{kind}.yaml").read_bytes())
    return found


def original(kind: str, status: Obj | None = None, change: Obj | None = None) -> Obj:
    """The original of a kind, with a status; `change` is merged into its spec."""
    adapter, given = ADAPTERS[kind], case(kind)["original"]
    metadata = {"namespace": "work", "uid": f"uid-of-{kind}", "creationTimestamp": CREATED, **given["metadata"]}
    spec = merged(copy.deepcopy(given["spec"]), change or {})
    return head(adapter) | {"metadata": metadata, "spec": spec, **({"status": status} if status else {})}


def mirror(kind: str, status: Obj | None = None, change: Obj | None = None, **metadata: Any) -> Obj:
    """The mirror of that original as a worker has it; `change` is merged into its spec."""
    body = ADAPTERS[kind].mirror(as_object(original(kind)), PARAMETERS)
    body["metadata"] |= {"uid": "mirror", "creationTimestamp": CREATED, **metadata}
    body["spec"] = merged(body["spec"], change or {})
    return body | ({"status": status} if status else {})


def head(adapter: Adapter) -> Obj:
    return {"apiVersion": adapter.resource.api_version, "kind": adapter.resource.kind}


def merged(old: Obj, change: Obj) -> Obj:
    new = dict(old)
    for key, value in change.items():
        new[key] = merged(new.get(key) or {}, value) if isinstance(value, dict) else value
    return new


def as_object(obj: Obj) -> Object:
    return decode_object(msgspec.json.encode(obj))


def at(path: str, value: Any) -> Obj:
    """A spec with one field: `at("spec.runPolicy.suspend", True)` is {"runPolicy": {"suspend": True}}."""
    for key in reversed(path.split(".")[1:]):
        value = {key: value}
    assert isinstance(value, dict)
    return value


def golden(kind: str) -> Path:
    return FOLDER / "golden" / f"{kind}.yaml"


if __name__ == "__main__":
    for name in KINDS:
        body = ADAPTERS[name].mirror(as_object(original(name)), PARAMETERS)
        golden(name).write_text(pyyaml.safe_dump(body, sort_keys=False, width=120))
