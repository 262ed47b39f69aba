"""The mirrors of all kinds as an embedded worker has them, kept in `golden/`.

Written by `python -m tests.relay.kinds.golden`, to be looked at before they are committed.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import yaml as pyyaml

from jobrelay.apimachinery import yaml
from jobrelay.kube import Object
from jobrelay.workloads import Adapter
from jobrelay.workloads.names import PROOF

_FOLDER = Path(__file__).parent / "golden"
_OF_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


def read(adapter: Adapter) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(_file(adapter).read_bytes())
    return found


def shape(mirror: Object, original: Object) -> dict[str, Any]:
    """A mirror without what differs each time, and without a status."""
    text = mirror.raw.decode()
    for part, name in ((mirror.uid, "mirror"), (original.uid, "original"), (mirror.metadata.annotations[PROOF], "p")):
        text = text.replace(part, f"<{name}>")
    body: dict[str, Any] = msgspec.json.decode(text)
    metadata = {key: value for key, value in body["metadata"].items() if key not in _OF_SERVER}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata, "spec": body["spec"]}


def _file(adapter: Adapter) -> Path:
    return _FOLDER / f"{adapter.resource.kind.lower()}.yaml"


async def _write() -> None:
    from tests.relay.kinds.table import TAKEN, table

    for adapter in TAKEN:
        async with table(adapter) as it:
            original = await it.submit()
            body = shape(await it.mirror(name="train"), original)
        _file(adapter).write_text(pyyaml.safe_dump(body, sort_keys=False, width=120))


if __name__ == "__main__":
    _FOLDER.mkdir(exist_ok=True)
    asyncio.run(_write())
