"""The entries of managedFields: who set which fields, when, and through which version and subresource.

Entries are kept by identity while a request is handled: an applier is one manager whatever version it uses, an updater
one manager per version. The list on the wire has appliers first, then the oldest; it has at most ten entries of
updaters.
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.apimachinery.apply.fieldset import Fields, FieldsError, canonical, ordered, union
from jobrelay.apimachinery.field import go_quote

MAX_UPDATERS: Final = 10
ANCIENT: Final = "ancient-changes"
Wire = list[dict[str, Any]]


class ManagedFieldsError(ValueError):
    """managedFields that cannot be read; the text is the server's."""


class ManagedFieldsEntry(NamedTuple):
    """One manager's fields, in the server's order. `time` is "" when the manager joined without changing anything."""

    manager: str
    operation: str
    version: str
    fields: Fields
    time: str = ""
    subresource: str = ""

    @property
    def applied(self) -> bool:
        return self.operation == "Apply"

    @property
    def identity(self) -> str:
        """The key that identifies a manager; the real server also sorts by it."""
        return _identity(self.manager, self.operation, "" if self.applied else self.version, self.subresource)

    def with_fields(self, fields: Fields) -> ManagedFieldsEntry:
        return ManagedFieldsEntry(self.manager, self.operation, self.version, fields, self.time, self.subresource)

    def described(self) -> str:
        """The manager as conflicts name it."""
        text = go_quote(self.manager)
        if self.subresource:
            text += f" with subresource {go_quote(self.subresource)}"
        return text if self.applied else f"{text} using {self.version}"

    def wire(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if self.manager:
            made["manager"] = self.manager
        made |= {"operation": self.operation, "apiVersion": self.version}
        if self.time:
            made["time"] = self.time
        made |= {"fieldsType": "FieldsV1", "fieldsV1": self.fields}
        if self.subresource:
            made["subresource"] = self.subresource
        return made


Managers = dict[str, ManagedFieldsEntry]


@functools.lru_cache(1024)
def _identity(manager: str, operation: str, version: str, subresource: str) -> str:
    known = {"manager": manager, "operation": operation, "apiVersion": version, "subresource": subresource}
    return msgspec.json.encode({key: value for key, value in known.items() if value}).decode()


def read(entries: Wire | None, *, trusted: bool) -> Managers:
    """The managers of a list; trusted lists, which the server itself wrote, are not checked."""
    found: Managers = {}
    for index, raw in enumerate(entries or ()):
        if not trusted:
            _check(index, raw)
        fields = raw.get("fieldsV1") or {}
        try:
            entry = ManagedFieldsEntry(
                raw.get("manager", ""), raw.get("operation", ""), raw.get("apiVersion", ""),
                fields if trusted else ordered(canonical(fields)), raw.get("time") or "", raw.get("subresource", ""),
            )  # fmt: skip
        except FieldsError as error:
            raise ManagedFieldsError(
                f"error decoding versioned set from {{...}}: error decoding set: {error}"
            ) from None
        found[entry.identity] = entry
    return found


def check_managed_fields(entries: Wire | None) -> None:
    """Refuses managedFields that could not be read; raises ManagedFieldsError."""
    read(entries, trusted=False)


def _check(index: int, raw: dict[str, Any]) -> None:
    if raw.get("operation") not in ("Apply", "Update"):
        raise ManagedFieldsError("operation must be `Apply` or `Update`")
    if not raw.get("apiVersion"):
        raise ManagedFieldsError("apiVersion must not be empty")
    kind = raw.get("fieldsType", "")
    if not kind:
        raise ManagedFieldsError(f"missing fieldsType in managed fields entry {index}")
    if kind != "FieldsV1":
        raise ManagedFieldsError(f"invalid fieldsType {go_quote(kind)} in managed fields entry {index}")


def write(managers: Managers) -> Wire | None:
    """The list for the object, in the server's order; None when there are no managers."""
    if not managers:
        return None
    ordered = sorted(
        managers.values(),
        key=lambda entry: (entry.operation, entry.time, entry.manager, entry.version, entry.subresource),
    )
    return [entry.wire() for entry in ordered]


def cap(managers: Managers) -> Managers:
    """Joins the oldest updaters of a version into one entry until there are no more than ten."""
    if len(managers) <= MAX_UPDATERS:
        return managers
    updaters = [entry for entry in managers.values() if not entry.applied]
    excess = len(updaters) - MAX_UPDATERS
    if excess <= 0:
        return managers
    out = dict(managers)
    first: dict[str, ManagedFieldsEntry] = {}
    for entry in sorted(updaters, key=lambda entry: (entry.time, entry.identity)):
        if excess <= 0:
            break
        if entry.version not in first:
            first[entry.version] = entry
            continue
        bucket = ManagedFieldsEntry(ANCIENT, "Update", entry.version, {})
        if bucket.identity not in out:
            out[bucket.identity] = bucket.with_fields(out.pop(first[entry.version].identity).fields)
        joined = ordered(union(entry.fields, out[bucket.identity].fields))
        del out[entry.identity]
        out[bucket.identity] = bucket._replace(fields=joined, time=entry.time)
        excess -= 1
    return out


def restore_times(new: dict[str, Any], old: dict[str, Any]) -> None:
    """Takes the old times back when nothing else changed, so that a write that changes nothing is none."""
    after, before = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not after or not before or len(after) != len(before) or after == before:
        return
    if [_timeless(entry) for entry in after] != [_timeless(entry) for entry in before]:
        return
    if {**new, "metadata": _unmanaged(new)} == {**old, "metadata": _unmanaged(old)}:
        new["metadata"]["managedFields"] = before


def _timeless(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "time"}


def _unmanaged(obj: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
