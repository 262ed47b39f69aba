"""`jobrelay dashboard`: the workloads on a screen, served to this machine's browser."""

from __future__ import annotations

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import NAMESPACE, Management, failures, management_options


@click.command(short_help="Show workloads, workers and logs in the browser.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="a free one", help="The port to use.")
@click.option("--no-browser", is_flag=True, help="Only print the URL.")
@NAMESPACE
@management_options
def dashboard(port: int, no_browser: bool, namespace: str | None, management: Management) -> None:
    """Show workloads, workers and logs in the browser, until Ctrl-C.

    Prints the URL on stdout, and opens it. The pages are served on the loopback device alone and show what your
    kubeconfig lets you see, through the relay's API. The URL contains a token: anyone who has it sees the same.

    \b
    jobrelay dashboard
    jobrelay dashboard --port 8080 --no-browser
    jobrelay dashboard -n research
    """
    from jobrelay.cli.loop import run_until_stopped

    with failures():
        run_until_stopped(_serve(management, namespace, port, not no_browser))


async def _serve(management: Management, namespace: str | None, port: int, opens: bool) -> None:
    import asyncio

    from jobrelay.kube import SystemClock
    from jobrelay.web.serving import local_dashboard

    own, clock = management.namespace(namespace), SystemClock()
    async with management.connect() as client:
        try:
            async with local_dashboard(client, own, port, clock, first=namespace or "") as url:
                click.echo(url)
                if opens:
                    await asyncio.to_thread(_open, url)
                click.echo("press Ctrl-C to stop", err=True)
                await asyncio.Event().wait()
        except OSError as error:
            raise Failure(f"port {port} cannot be used: {error.strerror}", "choose another --port") from error


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        click.echo("no browser was found: open the URL yourself", err=True)
