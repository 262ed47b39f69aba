"""`jobrelay relay run`: checks the options, then runs the relay."""

from __future__ import annotations

import pathlib

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import CONTEXT, KUBECONFIG, LEASE_NAME, SYSTEM_NAMESPACE
from jobrelay.cli.output import output_option
from jobrelay.cli.relay.tuning import Tuning, tuning_options


@click.command(short_help="Run delegated Jobs on worker clusters until Ctrl-C.")
@KUBECONFIG
@CONTEXT
@click.option(
    "--worker", "workers", metavar="NAME=KUBECONFIG", multiple=True,
    help="A worker, for local use; can be repeated.",
)  # fmt: skip
@click.option(
    "--workers-from", type=click.Choice(["objects", "flags"]),
    help="Whether workers are MultiKueueCluster objects or --worker options.  [default: flags if --worker is given]",
)  # fmt: skip
@tuning_options
@click.option(
    "--origin", metavar="NAME",
    help="The mark of this relay's mirrors on workers that several relays share.  [default: by management cluster]",
)  # fmt: skip
@click.option(
    "--namespace", metavar="NS", envvar="JOBRELAY_NAMESPACE",
    show_default=f"{SYSTEM_NAMESPACE}; in a pod: the pod's own",
    help="The namespace of the relay's Lease and the workers' Secrets.",
)  # fmt: skip
@click.option(
    "--multikueue", type=click.Choice(["auto", "off"]), default="auto", show_default=True,
    help="Where Kueue runs on the management cluster, be the controller of its MultiKueue checks.",
)  # fmt: skip
@click.option(
    "--dispatcher", type=click.Choice(["placement", "all-at-once", "incremental"]), default="placement",
    show_default=True, help="Which workers are asked to admit what Kueue queues: the best one, or as MultiKueue does.",
)  # fmt: skip
@click.option("--config", metavar="NAME", help="Use only the workers of this MultiKueueConfig, in its order.")
@click.option(
    "--allow-exec", metavar="COMMAND", multiple=True,
    help="A credential plugin that kubeconfigs in Secrets may run; can be repeated.",
)  # fmt: skip
@LEASE_NAME
@click.option(
    "--no-leader-election", is_flag=True, help="Lead without a Lease; use this only if no other relay can run."
)
@click.option(
    "--listen", metavar="ADDR:PORT", default="127.0.0.1:0", show_default=True,
    help="The address for probes, metrics and commands such as `jobrelay get`; port 0 means a free one.",
)  # fmt: skip
@click.option(
    "--api-listen", metavar="ADDR:PORT", default="",
    help="The address of the API for users (relay.jobrelay.dev) and of the dashboard, over TLS; port 0 means a free "
    "one.  [default: none]",
)  # fmt: skip
@click.option(
    "--api-host", metavar="HOST", default="",
    help="The name by which the API server of the management cluster reaches --api-listen, if the relay is not in that "
    "cluster. It is registered there.",
)  # fmt: skip
@output_option("text", "json", help="Format of the ready line.")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True,
)  # fmt: skip
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def run(
    kubeconfig: pathlib.Path | None,
    context: str | None,
    workers: tuple[str, ...],
    workers_from: str | None,
    tuning: Tuning,
    origin: str | None,
    namespace: str | None,
    multikueue: str,
    dispatcher: str,
    config: str | None,
    allow_exec: tuple[str, ...],
    lease_name: str,
    no_leader_election: bool,
    listen: str,
    api_listen: str,
    api_host: str,
    output: str,
    log_level: str,
    log_format: str,
) -> None:
    """Run delegated Jobs of a management cluster on worker clusters until Ctrl-C.

    Handles every Job whose spec.managedBy is jobrelay.dev/relay or kueue.x-k8s.io/multikueue, and objects of other
    workload kinds: many are built in, --kind-file describes more. Prints `relay ready` on stdout, followed by the
    workers and their states, once they are known.

    Workers are MultiKueueCluster objects with a kubeconfig in a Secret (`jobrelay worker add` creates both), or
    --worker options for local use. Several replicas can run: one leads, and another takes over within 15 seconds.
    With --api-listen every replica serves the API by which ordinary users see their workloads and read their logs,
    and below /dashboard/ pages for their browsers.

    \b
    jobrelay relay run --kubeconfig management.kubeconfig
    jobrelay relay run --kubeconfig m.kubeconfig --worker a=a.kubeconfig --worker b=b.kubeconfig
    jobrelay relay run --worker-lost-timeout 90s --placement 'least-loaded*2,cost'
    """
    from jobrelay.cli.logging_setup import configure_logging
    from jobrelay.cli.relay.serve import RelayPlan, serve_relay

    tuning.check()
    given = _workers(workers)
    by_flags = workers_from == "flags" or (workers_from is None and bool(given))
    if given and not by_flags:
        raise Failure("--worker cannot be combined with --workers-from objects", "remove one of the two")
    if by_flags and (config or allow_exec):
        raise Failure("--config and --allow-exec need workers that are objects", "use --workers-from objects")
    if api_host and not api_listen:
        raise Failure("--api-host needs an address that is listened on", "add --api-listen ADDR:PORT")
    plan = RelayPlan(
        kubeconfig=kubeconfig,
        context=context,
        workers=given if by_flags else None,
        tuning=tuning,
        origin=origin,
        namespace=namespace,
        dispatcher=dispatcher if multikueue == "auto" else None,
        config=config,
        allow_exec=frozenset(allow_exec),
        lease_name=None if no_leader_election else lease_name,
        listen=_address("--listen", listen),
        api_listen=_address("--api-listen", api_listen) if api_listen else None,
        api_host=api_host,
        json=output == "json",
    )
    configure_logging(log_level, log_format)
    serve_relay(plan)


def _workers(texts: tuple[str, ...]) -> dict[str, pathlib.Path]:
    from jobrelay.relay.workers.source import parse_flag

    found: dict[str, pathlib.Path] = {}
    for text in texts:
        try:
            name, path = parse_flag(text)
        except ValueError as error:
            raise Failure(f"--worker {error}", "write --worker NAME=KUBECONFIG") from None
        if name in found:
            raise Failure(f"--worker {name!r} is given twice", "give each worker once")
        found[name] = path
    return found


def _address(option: str, text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise Failure(f"{option} {text}: not ADDR:PORT", "write 127.0.0.1:8080 or :8080, for example")
    return host.strip("[]") or "0.0.0.0", int(port)
