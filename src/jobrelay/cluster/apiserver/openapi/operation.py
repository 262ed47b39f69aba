"""One request that the server understands, as a value that both versions of the documents are written from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jobrelay.apimachinery.types import type_for_kind
from jobrelay.cluster.apiserver.openapi.parameters import Parameter
from jobrelay.kinds.apiextensions.openapi import model_name

JSON_YAML: Final = ("application/json", "application/yaml")
BUILT_IN: Final = (*JSON_YAML, "application/vnd.kubernetes.protobuf")
ANY: Final = ("*/*",)
STRING: Final = "string"
_CODES: Final = {"200": "OK", "201": "Created", "202": "Accepted", "401": "Unauthorized"}


@dataclass(slots=True)
class Operation:
    """One method of one path. Schemas are named; STRING is the only one without a definition."""

    path: str
    method: str
    id: str
    tag: str
    description: str
    answer: str
    codes: tuple[str, ...] = ("200",)
    consumes: tuple[str, ...] = ANY
    produces: tuple[str, ...] = BUILT_IN
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    body_required: bool = True
    action: str = ""
    kind: tuple[str, str, str] | None = None

    @property
    def responses(self) -> Iterator[tuple[str, str, bool]]:
        """Code, text and whether there is a body."""
        for code in (*self.codes, "401"):
            yield code, _CODES[code], code != "401"


def group_title(group: str) -> str:
    """`RbacAuthorization` for rbac.authorization.k8s.io, `Core` for the group without a name."""
    words = re.split(r"[.-]", group.removesuffix(".k8s.io")) if group else ["core"]
    return "".join(word[:1].upper() + word[1:] for word in words)


def tag(group: str, version: str = "") -> str:
    title = group_title(group)
    return title[:1].lower() + title[1:] + (f"_{version}" if version else "")


def definition_name(group: str, version: str, kind: str) -> str:
    """What the definition of a kind is called; kinds that are not built in are custom ones."""
    found = type_for_kind(f"{group}/{version}" if group else version, kind)
    return found.name if found is not None else model_name(group, version, kind)
