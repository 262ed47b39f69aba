"""One write on its way through admission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobrelay.apimachinery.field import FieldError
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import Served
from jobrelay.cluster.apiserver.services import Services
from jobrelay.kinds.strategy import Obj


@dataclass(slots=True)
class Attempt:
    """One write: the object as it would be stored, the stored one if there is one, and who asks for what."""

    services: Services
    request: ApiRequest
    served: Served
    operation: str  # CREATE or UPDATE
    new: Obj
    old: Obj | None = None
    subresource: str = ""
    dry_run: bool = False
    unsettled: bool = False  # reading the object back shows more than what is stored

    @property
    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = self.new["metadata"]
        return metadata

    def invalid(self, found: list[FieldError]) -> errors.ApiError:
        group = "" if self.served.key == "events" else self.served.group
        kind = self.served.kind
        if self.served.custom is not None:
            group, kind = self.new.get("apiVersion", "").rpartition("/")[0], self.new.get("kind", "")
        return errors.invalid(group, kind, self.metadata.get("name", ""), found)
