"""`jobrelay cluster crds`: installs CustomResourceDefinitions on clusters, and lists them."""

from __future__ import annotations

import pathlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.cluster.common import DIR, cluster_errors, complete_names, existing
from jobrelay.cli.cluster.definitions import complete_definitions, load_definitions
from jobrelay.cli.errors import Failure
from jobrelay.cli.management import CONTEXT, run
from jobrelay.cli.options import option_group
from jobrelay.cli.output import output_option, print_rows

if TYPE_CHECKING:
    from jobrelay.kube import Client, Object
    from jobrelay.operate.crds import Definition

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TargetClusters:
    """The clusters that a command is about: embedded ones by name, or any one by its kubeconfig."""

    clusters: tuple[str, ...]
    folder: pathlib.Path
    kubeconfig: pathlib.Path | None
    context: str | None

    def kubeconfigs(self) -> dict[str, pathlib.Path | None]:
        """The kubeconfig of each cluster by name; raises Failure for a cluster that is not running."""
        if self.clusters and (self.kubeconfig or self.context):
            raise click.UsageError("Give either --cluster or --kubeconfig.")
        with cluster_errors():
            chosen = existing(self.folder, self.clusters)
            for each in chosen:
                if each.holder() is None:
                    raise Failure(f"cluster {each.name!r} is not running", f"`jobrelay cluster start {each.name}`")
        return {each.name: each.kubeconfig for each in chosen} or {"": self.kubeconfig}


target_options = option_group(
    "target",
    TargetClusters,
    click.option(
        "-c", "--cluster", "clusters", metavar="NAME", multiple=True, shell_complete=complete_names,
        help="An embedded cluster; may be repeated.",
    ),
    DIR,
    click.option(
        "--kubeconfig", type=click.Path(path_type=pathlib.Path, dir_okay=False), metavar="FILE",
        help="The kubeconfig of any cluster, if --cluster is not given.  [default: as kubectl]",
    ),
    CONTEXT,
)  # fmt: skip


@click.group()
def crds() -> None:
    """Install CustomResourceDefinitions on clusters, and list them."""


@crds.command(short_help="Install CustomResourceDefinitions from files or by name.")
@click.argument("sources", metavar="FILE|DIR|NAME...", nargs=-1, required=True, shell_complete=complete_definitions)
@target_options
@output_option("table", "json", "name")
def add(sources: tuple[str, ...], target: TargetClusters, output: str) -> None:
    """Install CustomResourceDefinitions and wait until their kinds are served.

    FILE and DIR have the definitions of a project's release; other objects in them are left out. A NAME is a project:
    jobset, trainer, training-operator, mpi-operator, kuberay, appwrapper, tekton or kueue. It stands for definitions of
    jobrelay's own, with the project's names, versions, subresources and columns. All but kueue's accept any spec and
    status. They never replace definitions that came from elsewhere: those are `kept`. (To name a folder `jobset`, write
    ./jobset.)

    \b
    jobrelay cluster crds add jobset -c dev
    jobrelay cluster crds add config/crd/bases kuberay --kubeconfig dev.kubeconfig
    """
    definitions = load_definitions(sources)
    rows = _on_each(target, lambda client, name: _install(client, name, definitions))
    print_rows(rows, _columns(target, "name", "result", "source"), output)


@crds.command("list", short_help="List the CustomResourceDefinitions of clusters.")
@click.option("--available", is_flag=True, help="List what the names that `add` takes stand for instead.")
@target_options
@output_option("table", "json", "name")
def list_(available: bool, target: TargetClusters, output: str) -> None:
    """List the CustomResourceDefinitions of clusters, with their kinds and the versions that are served."""
    if available:
        print_rows(_available(), ["source", "name", "kind", "versions"], output)
        return
    rows = _on_each(target, _list)
    if not rows and output == "table":
        click.echo("no CustomResourceDefinitions", err=True)
        return
    print_rows(rows, _columns(target, "name", "kind", "versions", "established"), output)


def _columns(target: TargetClusters, *columns: str) -> list[str]:
    return [*(["cluster"] if len(target.clusters) > 1 else []), *columns]


def _on_each(target: TargetClusters, work: Callable[[Client, str], Awaitable[Rows]]) -> Rows:
    """Does the work on each cluster, one after another; the rows of all."""

    async def on_all() -> Rows:
        from jobrelay.kube import connect

        rows: Rows = []
        for name, kubeconfig in target.kubeconfigs().items():
            async with connect(kubeconfig, target.context) as client:
                rows += await work(client, name)
        return rows

    return run(on_all())


async def _install(client: Client, cluster: str, definitions: tuple[Definition, ...]) -> Rows:
    from jobrelay.operate.crds import install_definitions

    installed = await install_definitions(client, definitions)
    return [{**_named(cluster), "name": each.name, "result": each.result, "source": each.source} for each in installed]


async def _list(client: Client, cluster: str) -> Rows:
    from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS

    found = (await client.list(CUSTOMRESOURCEDEFINITIONS)).items
    return [{**_named(cluster), **_row(each)} for each in found]


def _named(cluster: str) -> dict[str, Any]:
    return {"cluster": cluster} if cluster else {}


def _row(crd: Object) -> dict[str, Any]:
    body = crd.decode()
    conditions = (body.get("status") or {}).get("conditions") or ()
    established = any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
    return {"name": crd.name, **_kind(body["spec"]), "established": "yes" if established else "no"}


def _kind(spec: Mapping[str, Any]) -> dict[str, Any]:
    served = [each["name"] for each in spec["versions"] if each["served"]]
    return {"kind": spec["names"]["kind"], "versions": ",".join(served)}


def _available() -> Rows:
    from jobrelay.operate.crds import KNOWN, make_definitions

    return [
        {"source": name, "name": each["metadata"]["name"], **_kind(each["spec"])}
        for name in KNOWN
        for each in make_definitions(name)
    ]
