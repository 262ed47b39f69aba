"""Options of the commands that register workers, and of those that act on a worker and its management cluster."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import RELAY_NAMESPACE, Management
from jobrelay.cli.options import option_group

__all__ = [
    "COST", "LABELS", "WEIGHT", "WORKER_CONTEXT", "WORKER_KUBECONFIG", "separate_management_options", "worker_metadata",
]  # fmt: skip

_FILE = click.Path(path_type=pathlib.Path, dir_okay=False)

WORKER_KUBECONFIG = click.option(
    "--kubeconfig", "worker_kubeconfig", type=_FILE, metavar="FILE",
    help="The kubeconfig of the worker's administrator.",
)  # fmt: skip
WORKER_CONTEXT = click.option(
    "--context", "worker_context", metavar="NAME", help="The context in that file.  [default: the current one]"
)
LABELS = click.option(
    "--label", "labels", metavar="KEY=VALUE", multiple=True, help="A label on the worker; can be repeated."
)
COST = click.option("--cost", metavar="NUMBER", help="The cost of running Jobs there, for the policy `cost`.")
WEIGHT = click.option("--weight", metavar="NUMBER", help="The worker's share of Jobs, for the policy `weights`.")
separate_management_options = option_group(
    "management", Management,
    click.option(
        "--management-kubeconfig", "kubeconfig", type=_FILE, metavar="FILE",
        help="The kubeconfig of the management cluster.  [default: as kubectl]",
    ),
    click.option(
        "--management-context", "context", metavar="NAME", help="The context in that file.  [default: the current one]"
    ),
    RELAY_NAMESPACE,
)  # fmt: skip
"""The options of commands whose `--kubeconfig` is a worker's."""


def worker_metadata(labels: Sequence[str], cost: str | None, weight: str | None) -> dict[str, dict[str, str]]:
    """The labels and annotations of a worker's object; raises Failure."""
    from jobrelay.relay import names

    annotations = {names.COST: cost, names.WEIGHT: weight}
    return {
        "labels": dict(map(_key_value, labels)),
        "annotations": {key: value for key, value in annotations.items() if value is not None},
    }


def _key_value(label: str) -> tuple[str, str]:
    key, equals, value = label.partition("=")
    if not equals:
        raise Failure(f"--label {label}: not KEY=VALUE", "write --label region=west, for example")
    return key, value
