"""CustomResourceDefinitions for clusters: read from files, or made for the kinds of well-known projects.

`catalog` has the definitions of our own, `sources` reads what a user names, `installing` brings both to a cluster.
"""

from __future__ import annotations

from .catalog import KNOWN, make_definitions
from .installing import Installed, install_definitions
from .sources import Definition, read_definitions

__all__ = ["KNOWN", "Definition", "Installed", "install_definitions", "make_definitions", "read_definitions"]
