"""`jobrelay submit`: creates workloads that the relay runs, from manifests or from options."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, failures, management_options, run
from jobrelay.cli.options import SectionedCommand, option_group, optional_seconds
from jobrelay.cli.output import output_option

if TYPE_CHECKING:
    from jobrelay.sdk.delegation import Submission
    from jobrelay.sdk.job_options import JobOptions
    from jobrelay.sdk.relay import AsyncRelay

_COMMAND: Final = "jobrelay.cli.submit.command"
_STDIN: Final = pathlib.Path("-")
_SOURCE = click.Path(allow_dash=True, path_type=pathlib.Path)


class _SubmitCommand(SectionedCommand):
    """What follows `--` is the command to run in the container, and no file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND], args = args[at + 1 :], args[:at]
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True)
class NewJob:
    """The options that describe a Job."""

    name: str | None = None
    image: str | None = None
    cpu: str | None = None
    memory: str | None = None
    gpu: int | None = None
    env: tuple[str, ...] = ()
    completions: int | None = None
    parallelism: int | None = None
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()

    @property
    def given(self) -> bool:
        return any(value not in (None, ()) for value in (getattr(self, name) for name in self.__slots__))

    def options(self, command: Sequence[str]) -> JobOptions:
        """Raises Failure."""
        from jobrelay.sdk.job_options import JobOptions

        if not self.name or not self.image:
            missing = "--image" if self.name else "--name"
            raise Failure(
                f"a Job from options needs {missing}",
                "write `jobrelay submit --name train --image busybox -- echo hello`, or name a file",
            )
        return JobOptions(
            self.name,
            self.image,
            command,
            self.cpu,
            self.memory,
            self.gpu,
            _pairs("--env", self.env),
            self.completions,
            self.parallelism,
            _pairs("--label", self.labels),
            _pairs("--annotation", self.annotations),
        )


_job_options = option_group(
    "job", NewJob,
    click.option("--name", metavar="NAME", help="The name of the Job."),
    click.option("--image", metavar="IMAGE", help="The image of its container."),
    click.option("--cpu", metavar="QUANTITY", help="The CPU that each pod requests: 2, 500m."),
    click.option("--memory", metavar="QUANTITY", help="The memory that each pod requests and may use: 1Gi."),
    click.option("--gpu", metavar="N", type=click.IntRange(0), help="The number of nvidia.com/gpu of each pod."),
    click.option("--env", metavar="KEY=VALUE", multiple=True, help="A variable of the container; can be repeated."),
    click.option(
        "--completions", metavar="N", type=click.IntRange(1), help="How many pods have to succeed; each has an index."
    ),
    click.option(
        "--parallelism", metavar="N", type=click.IntRange(1), help="How many pods may run at the same time."
    ),
    click.option("--label", "labels", metavar="KEY=VALUE", multiple=True, help="A label of the Job."),
    click.option(
        "--annotation", "annotations", metavar="KEY=VALUE", multiple=True,
        help="An annotation, such as jobrelay.dev/clusters=west.",
    ),
)  # fmt: skip


@click.command(
    cls=_SubmitCommand,
    sections={"Options of a Job without a file": tuple(NewJob.__slots__)},
    short_help="Create workloads that the relay runs.",
)
@click.argument("sources", metavar="[FILE|-|DIR]... [-- COMMAND...]", type=_SOURCE, nargs=-1)
@_job_options
@NAMESPACE
@click.option("--dry-run", is_flag=True, help="Create nothing; say which workers could take it, and why not others.")
@click.option("--wait", is_flag=True, help="Wait for the end; the exit code is 0 if it succeeds, 1 if it fails.")
@click.option("--logs", is_flag=True, help="Follow the logs until the end, then as --wait.")
@click.option("--timeout", metavar="DURATION", callback=optional_seconds, help="Wait no longer than this.")
@output_option("text", "name", "json", "yaml")
@kind_options
@management_options
@click.pass_context
def submit(
    ctx: click.Context,
    sources: tuple[pathlib.Path, ...],
    job: NewJob,
    namespace: str | None,
    dry_run: bool,
    wait: bool,
    logs: bool,
    timeout: float | None,
    output: str,
    kinds: Kinds,
    management: Management,
) -> None:
    """Create workloads that the relay runs: from files, or a Job from options.

    spec.managedBy, or where a kind has that field, is set to the value that its API accepts. A value that is set
    already is left, and an error if it means somebody else. If one of several objects cannot be delegated, none is
    created.

    Ctrl-C while it waits detaches: the workload goes on. The exit code is 0, or with --wait that of the workload: 0 if
    it succeeded, 1 if it failed, 124 after --timeout. --dry-run exits with 3 if no worker could take it now.

    \b
    jobrelay submit train.yaml
    jobrelay submit train.yaml --wait --logs
    jobrelay submit --name hello --image busybox --cpu 1 --memory 64Mi -- echo hello
    jobrelay submit --name render --image busybox --completions 8 --parallelism 4 -- ./render.sh
    jobrelay submit jobs/ --dry-run
    """
    from jobrelay.cli.waiting import Waiting, attend

    command = tuple(ctx.meta.get(_COMMAND, ()))
    manifests = _manifests(sources, job, command)
    if logs and (output in ("json", "yaml") or len(manifests) > 1):
        why = f"-o {output} is on stdout too" if output in ("json", "yaml") else "there are several workloads"
        raise Failure(f"--logs prints the logs of one workload on stdout, and {why}", "use --wait without --logs")
    if timeout is not None and not (wait or logs):
        raise Failure("--timeout is how long to wait, and it is not waited", "add --wait")
    if dry_run:
        raise click.exceptions.Exit(run(_preview(manifests, namespace, output, kinds, management)))
    waiting = Waiting(output, timeout, wait or logs, logs, management, kinds.kind_files)
    made = run(_submit(manifests, namespace, kinds, management))
    raise click.exceptions.Exit(attend(made, waiting, kinds))


def _manifests(sources: Sequence[pathlib.Path], job: NewJob, command: Sequence[str]) -> list[tuple[str, Any]]:
    """The objects to create, with where they are; raises Failure."""
    from jobrelay.sdk.job_options import job_manifest

    if sources and (job.given or command):
        raise Failure("files and options of a new Job cannot be combined", "give either a file, or --name and --image")
    with failures():
        if not sources:
            return [("the Job", job_manifest(job.options(command)))]
        found = [each for source in dict.fromkeys(sources) for each in _read(source)]
    if not found:
        raise Failure("there is no object in " + ", ".join(map(str, sources)), "name files that have one")
    return found


def _read(source: pathlib.Path) -> Iterator[tuple[str, Any]]:
    from jobrelay.operate.files import files_of, read_file, read_objects

    if source == _STDIN:
        yield from read_objects("stdin", sys.stdin.buffer.read())
        return
    for path in files_of(source):
        yield from read_objects(str(path), read_file(path))


async def _submit(
    manifests: Sequence[tuple[str, Any]], namespace: str | None, kinds: Kinds, management: Management
) -> list[Any]:
    async with kinds.relay(management, namespace) as relay:
        return [await relay.create(each) for each in await _delegated(relay, manifests, namespace)]


async def _preview(
    manifests: Sequence[tuple[str, Any]], namespace: str | None, output: str, kinds: Kinds, management: Management
) -> int:
    """Prints what the relay would decide; the exit code."""
    from jobrelay.cli.preview import print_previews

    async with kinds.relay(management, namespace) as relay:
        found = [await relay.preview(each) for each in await _delegated(relay, manifests, namespace)]
    return print_previews(found, output)


async def _delegated(
    relay: AsyncRelay, manifests: Sequence[tuple[str, Any]], namespace: str | None
) -> list[Submission]:
    from jobrelay.sdk.delegation import delegate

    adapters = await relay.adapters()
    found = [delegate(where, manifest, adapters) for where, manifest in manifests]
    for (where, _), each in zip(manifests, found, strict=True):
        own = each.body["metadata"].get("namespace")
        if namespace and own and own != namespace:
            raise Failure(f"{where} is for namespace {own}, not {namespace}", "omit -n, or change it there")
    return found


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    found = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise Failure(f"{option} {each}: not KEY=VALUE", f"write {option} NAME=value, for example")
        found[key] = value
    return found
