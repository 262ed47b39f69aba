"""The workload kinds that commands know: of this installation, in the relay's ConfigMaps, and in files."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import Management
from jobrelay.cli.options import option_group

if TYPE_CHECKING:
    from jobrelay.kube import Client
    from jobrelay.operate.kinds import KindFile
    from jobrelay.sdk.relay import AsyncRelay
    from jobrelay.workloads import Adapter
    from jobrelay.workloads.kind_files import GivenKind

__all__ = ["KIND_FILES", "Kinds", "conflicts", "given_kinds", "kind_options"]

KIND_FILES = click.option(
    "--kind-file", "kind_files", metavar="FILE", multiple=True,
    type=click.Path(path_type=pathlib.Path, dir_okay=False),
    help="The description of a workload kind, beside the built-in ones; can be repeated.",
)  # fmt: skip


@contextmanager
def conflicts() -> Iterator[None]:
    """Turns two adapters for one kind into a Failure."""
    from jobrelay.workloads import AdapterConflict

    try:
        yield
    except AdapterConflict as error:
        raise Failure(str(error), "remove one of the two: uninstall its package, or leave out its file") from None


def given_kinds(files: Iterable[pathlib.Path]) -> tuple[GivenKind, ...]:
    """The kinds that files describe; raises Failure for one that cannot be used."""
    from jobrelay.workloads.declared import DescriptionError
    from jobrelay.workloads.kind_files import read_kind_file

    try:
        return tuple(map(read_kind_file, files))
    except DescriptionError as error:
        raise Failure(f"--kind-file {error}", "docs/reference/kinds.md describes the format") from None


@dataclass(frozen=True, slots=True)
class Kinds:
    """The files with kinds that a command was given."""

    kind_files: tuple[pathlib.Path, ...] = ()

    def __post_init__(self) -> None:
        """Says what is wrong with a file before any cluster is asked."""
        if self.kind_files:
            given_kinds(self.kind_files)

    async def adapters(self, client: Client, management: Management) -> tuple[Adapter, ...]:
        """The adapters of all kinds that the relay of a management cluster may have."""
        from jobrelay.operate.kinds import relay_adapters

        with conflicts():
            return await relay_adapters(client, management.relay_namespace, given_kinds(self.kind_files))

    @asynccontextmanager
    async def relay(self, management: Management, namespace: str | None = None) -> AsyncIterator[AsyncRelay]:
        """The relay of a management cluster, for what commands do with workloads."""
        from jobrelay.sdk.relay import AsyncRelay

        async with management.connect() as client:
            yield AsyncRelay(
                client,
                management.namespace(namespace),
                relay_namespace=management.relay_namespace,
                lease_name=management.lease_name,
                kinds=given_kinds(self.kind_files),
            )

    def texts(self) -> tuple[KindFile, ...]:
        """The files themselves."""
        from jobrelay.operate.kinds import KindFile
        from jobrelay.workloads import load_adapters

        given = given_kinds(self.kind_files)
        with conflicts():
            load_adapters(given=given)
        return tuple(
            KindFile(kind.description.api_resource, path.read_text())
            for kind, path in zip(given, self.kind_files, strict=True)
        )


kind_options = option_group("kinds", Kinds, KIND_FILES)
