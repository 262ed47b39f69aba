"""Shared by the cluster commands: the folder, names, checks of options, and the description of a cluster."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from jobrelay.cli.errors import Failure
from jobrelay.cli.state_folder import state_folder
from jobrelay.cluster.errors import ClusterError
from jobrelay.cluster.files import ClusterFolder, find_folders

F = TypeVar("F", bound=Callable[..., Any])
NOT_PULLED = (
    "note: images are not pulled; pods run their commands as processes of this machine, as your user "
    "(with --runtime scripted they run nothing)"
)
GPU = "nvidia.com/gpu"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def folder_option(whose: str, subfolder: str = "", **more: Any) -> Callable[[F], F]:
    """The option --dir; the default is a folder below the user's state."""
    return click.option(
        "--dir", "folder", type=click.Path(path_type=pathlib.Path), callback=lambda ctx, param, value: value.absolute(),
        default=lambda: state_folder() / subfolder,
        show_default=str(pathlib.PurePosixPath("~/.local/state/jobrelay", subfolder)),
        help=f"The folder of the {whose} data and kubeconfigs.", **more,
    )  # fmt: skip


DIR = folder_option("clusters'", envvar="JOBRELAY_DIR")


def check_names(names: Sequence[str]) -> None:
    """Raises Failure for a name that is not valid for a cluster, and for a name that is given twice."""
    for name in names:
        if not _NAME.fullmatch(name):
            hint = "use at most 63 lower case letters, digits and '-', starting and ending with a letter or digit"
            raise Failure(f"{name!r} is not a valid name for a cluster", hint)
        if names.count(name) > 1:
            raise Failure(f"cluster {name!r} is given twice", "give each name once")


def check_runtime(runtime: str) -> None:
    """Raises Failure for a runtime that this platform does not support."""
    if runtime == "process" and sys.platform != "linux":
        raise Failure("--runtime process needs Linux", "use --runtime scripted or --runtime none")


def check_controllers(text: str) -> None:
    """Raises Failure for a list of controllers that cannot be meant."""
    from jobrelay.cluster.controllers.catalog import UnknownController, select_controllers

    try:
        select_controllers(text)
    except UnknownController as error:
        raise Failure(f"--controllers: {error}", "write all, none, or names separated by commas") from None


def check_sizes(sizes: Mapping[str, str | None]) -> None:
    """Raises Failure for an option that is not a quantity."""
    from jobrelay.apimachinery.quantity import QuantityError, parse

    for option, text in sizes.items():
        try:
            parse(text or "1")
        except QuantityError as error:
            raise Failure(f"{option} {text}: {error}", "write 4, 500m or 16Gi, for example") from None


def read_label(text: str) -> tuple[str, str]:
    """A label of nodes, written as KEY=VALUE; raises Failure."""
    from jobrelay.apimachinery.names import is_qualified_name, is_valid_label_value

    key, equals, value = text.partition("=")
    if problems := ["there is no '='"] if not equals else [*is_qualified_name(key), *is_valid_label_value(value)]:
        raise Failure(f"--label {text}: {problems[0]}", "write zone=a, for example")
    return key, value


def existing(folder: pathlib.Path, names: Sequence[str]) -> list[ClusterFolder]:
    """The folders of clusters that exist; raises Failure for one that does not."""
    check_names(names)
    found = {each.name: each for each in find_folders(folder)}
    for name in names:
        if name not in found:
            hint = f"existing clusters: {', '.join(found)}" if found else "`jobrelay cluster start NAME` creates one"
            raise Failure(f"there is no cluster {name!r} in {folder}", hint)
    return [found[name] for name in names]


def describe(folder: ClusterFolder) -> dict[str, Any]:
    """What a cluster's folder says about it, as a table row."""
    pid = folder.holder()
    port = folder.settings().get("port")
    return {
        "name": folder.name,
        "state": "stopped" if pid is None else "running",
        "pid": pid or None,
        "url": f"https://127.0.0.1:{port}" if port else None,
        "kubeconfig": str(folder.kubeconfig) if folder.kubeconfig.exists() else None,
    }


def print_runtime_note(runtime: str) -> None:
    """Warns that pods run as processes of this machine, if they do."""
    if runtime == "process":
        click.echo(NOT_PULLED, err=True)


def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The clusters whose names start with `incomplete`."""
    folder = ctx.params.get("folder") or state_folder()
    return [CompletionItem(each.name) for each in find_folders(folder) if each.name.startswith(incomplete)]


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Turns a ClusterError into a Failure."""
    try:
        yield
    except ClusterError as error:
        raise Failure(str(error), error.hint) from error
