"""Generates descriptions.json of the built-in workload kinds from their YAML files: part of `make reference`."""

from __future__ import annotations

import msgspec

from jobrelay.apimachinery import yaml
from jobrelay.workloads.builtin import GENERATED
from jobrelay.workloads.declared import decode_description


def generated() -> bytes:
    """The whole file: a line for each kind, so that changes can be read."""
    files = sorted(GENERATED.parent.glob("*.yaml"))
    for each in files:
        decode_description(each.read_bytes(), each.name)  # says what is wrong with it
    lines = [msgspec.json.encode(yaml.load(each.read_bytes())) for each in files]
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


if __name__ == "__main__":
    GENERATED.write_bytes(generated())
