"""How one version of a custom resource is read from the store and written to it.

A stored object is read by the schema of the version that it was stored in: pruned, and with the defaults of that
schema. Then it is converted, and pruned by the schema of the wanted version. What is written takes the way from the
version of the request to the storage version.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable

from jobrelay.kinds.apiextensions import pruning
from jobrelay.kinds.apiextensions.conversion import ConversionError, marked, unmarked
from jobrelay.kinds.apiextensions.strategy import CustomKind
from jobrelay.kinds.strategy import Obj

Convert = Callable[[Obj, str], Obj]  # an object in another apiVersion; may share parts with the given one


def renamed(obj: Obj, api_version: str) -> Obj:
    """The conversion of strategy None."""
    return {**obj, "apiVersion": api_version}


@dataclasses.dataclass(frozen=True, slots=True)
class VersionForm:
    """One version (`kind`) of a definition that stores objects in another or the same one (`storage`).

    `unnamed` is the version of stored objects that do not name theirs: they were written while the definition had one.
    """

    kind: CustomKind
    storage: CustomKind
    unnamed: str
    convert: Convert = renamed

    def with_conversion(self, convert: Convert) -> VersionForm:
        return dataclasses.replace(self, convert=convert)

    def read(self, stored: Obj) -> Obj:
        """A stored object in this version; raises ConversionError."""
        obj, version = unmarked(stored, self.unnamed)
        written = self.kind.named(f"{self.kind.group}/{version}")
        if written is None:
            raise ConversionError(f"request to convert CR from an invalid group/version: {self.kind.group}/{version}")
        made = _pruned({**obj, "apiVersion": written.api_version, "kind": self.kind.kind}, written)
        pruning.default(made, written.node)
        if written.version == self.kind.version:
            return made
        return _pruned(self._converted(made, self.kind), self.kind)

    def _converted(self, obj: Obj, kind: CustomKind) -> Obj:
        """An object in another version. In the store it has no resourceVersion, so that none is converted."""
        metadata = dict(obj["metadata"])
        version = metadata.pop("resourceVersion", None)
        made = self.convert({**obj, "metadata": metadata}, kind.api_version)
        return {**made, "metadata": {**made["metadata"], "resourceVersion": version}} if version else made

    def write(self, obj: Obj) -> Obj:
        """An object of this version as it is stored."""
        if self.kind.version != self.storage.version:
            obj = _pruned(self._converted(obj, self.storage), self.storage)
        return marked(obj, self.storage.version)


def _pruned(obj: Obj, kind: CustomKind) -> Obj:
    """A copy of an object that has only what a version knows."""
    made = copy.deepcopy(obj)
    pruning.prune(made, kind.node)
    pruning.prune_nulls(made, kind.node)
    return made
