"""One write as admission sees it."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

from jobrelay.apimachinery.decode import Notes
from jobrelay.apimachinery.field import FieldError
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.options import DeleteOptions
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.kinds.strategy import Obj

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class SubresourceView(Protocol):
    """Another object that stands for the one that is written: the Scale of a Deployment."""

    def show(self, obj: Obj) -> Obj:
        """What webhooks see of an object."""

    def put_back(self, shown: Obj, obj: Obj) -> None:
        """Changes an object as what was shown of it has been changed."""


class AdmissionRequest(msgspec.Struct, frozen=True, eq=False):
    """One write: who asks for what, the object as it would be stored, and the stored one if there is one.

    `name` is the name in the path; a create has none. A create has no `old` object and a delete no `new` one: they are
    empty. `notes` are those of reading the new object, `deletion` the options of a delete. `view` shows what stands for
    the objects where the request is not about themselves.
    """

    server: ServerContext
    request: ApiRequest
    served: ServedResource
    operation: Operation
    namespace: str
    name: str = ""
    new: Obj = {}
    old: Obj = {}
    subresource: str = ""
    dry_run: bool = False
    notes: Notes | None = None
    deletion: DeleteOptions | None = None
    view: SubresourceView | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the new object."""
        metadata: dict[str, Any] = self.new["metadata"]
        return metadata

    def is_about(self, key: str, subresource: str = "") -> bool:
        return self.served.key == key and self.subresource == subresource

    def invalid(self, found: list[FieldError]) -> errors.ApiError:
        group = "" if self.served.key == "events" else self.served.group
        kind = self.served.kind
        if self.served.custom is not None:
            group, kind = self.new.get("apiVersion", "").rpartition("/")[0], self.new.get("kind", "")
        return errors.invalid(group, kind, self.metadata.get("name", ""), found)

    def forbidden(self, why: str) -> errors.ApiError:
        name = self.metadata.get("name") or self.metadata.get("generateName", "")
        return errors.forbidden(self.served.group, self.served.plural, name, why)
