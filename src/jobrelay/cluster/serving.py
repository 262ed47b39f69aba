"""Files of others that a cluster serves by: its certificate, the CA of its clients, and tokens of users."""

from __future__ import annotations

import csv
import pathlib
from dataclasses import dataclass

from jobrelay.cluster.apiserver.request import UserInfo


@dataclass(frozen=True, slots=True)
class ServingFiles:
    """The certificate and key of the server, and whom it trusts beside its own authority."""

    certificate: pathlib.Path
    key: pathlib.Path
    client_ca: pathlib.Path | None = None
    tokens: pathlib.Path | None = None

    def users(self) -> dict[str, UserInfo]:
        """The users of the token file, by token: rows of token, name, uid and optionally groups."""
        if self.tokens is None:
            return {}
        found = {}
        for row in csv.reader(self.tokens.read_text().splitlines()):
            if len(row) < 3:
                raise ValueError(f"{self.tokens}: a row needs a token, a name and a uid")
            groups = tuple(filter(None, row[3].split(","))) if len(row) > 3 else ()
            found[row[0].strip()] = UserInfo(row[1].strip(), groups, row[2].strip())
        return found
