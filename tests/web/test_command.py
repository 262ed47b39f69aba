"""`jobrelay dashboard` as a process: the URL on stdout opens it, and Ctrl-C ends it."""

from __future__ import annotations

import asyncio
import pathlib
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from tests.cli.command import COMMAND, ENVIRONMENT
from tests.relay import fleets
from tests.relay.api import serving_fleet


@asynccontextmanager
async def dashboard(kubeconfig: pathlib.Path, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command; it is ended with the block, if it has not ended itself."""
    command = (*COMMAND, "dashboard", "--no-browser", "--kubeconfig", str(kubeconfig), *options)
    piped = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=piped, stderr=piped, env=ENVIRONMENT)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_the_command_serves_until_ctrl_c(tmp_path: pathlib.Path) -> None:
    async with asyncio.timeout(180), serving_fleet(fleets.fleet) as served:
        kubeconfig = await served.kubeconfig(tmp_path)
        async with dashboard(kubeconfig, "-n", "default") as process, aiohttp.ClientSession() as session:
            assert process.stdout is not None
            url = (await process.stdout.readline()).decode().strip()
            assert url.endswith("&namespace=default")
            async with session.get(url, allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"]) == (303, "/?namespace=default")
                cookie = answer.headers["Set-Cookie"].partition(";")[0]
            base = url.partition("?")[0]
            async with session.get(f"{base}?namespace=default", headers={"Cookie": cookie}) as answer:
                assert "0 running, 0 waiting" in await answer.text()
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0


async def test_a_port_that_is_taken_is_told(tmp_path: pathlib.Path) -> None:
    async with asyncio.timeout(180), serving_fleet(fleets.fleet) as served:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            async with dashboard(served.it.management.kubeconfig, "--port", str(port)) as process:
                _, said = await process.communicate()
                assert (process.returncode, f"error: port {port} cannot be used" in said.decode()) == (2, True)
                assert "hint: choose another --port" in said.decode()
