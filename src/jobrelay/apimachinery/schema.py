"""How kinds are named: by group, version and kind."""

from typing import NamedTuple


class GroupVersionKind(NamedTuple):
    """The full name of a kind; as a string it is written as Go does in messages."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"
