"""Serves the API over TLS: its certificate, its listener, what follows the front proxy, and its registration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Self

from aiohttp import web

from jobrelay.kube import Client, Clock, SystemClock
from jobrelay.relay.api.activity import Activity
from jobrelay.relay.api.authority import find_authority, serving_pair
from jobrelay.relay.api.front_proxy import FrontProxy
from jobrelay.relay.api.names import service_host
from jobrelay.relay.api.registration import Registered, Registration
from jobrelay.relay.api.server import RelayApi
from jobrelay.relay.relay import RelayManager


class ApiServing:
    """Serves within `async with`; `relay` gives the relay that is ready, None while there is none.

    `client` reaches the management cluster as the relay, `namespace` is the relay's there. `host` is the name by which
    the API server reaches this process, if that is not in the cluster: then it is registered. `routes` are served
    beside the API, and `pages` is an application that is served below a path.
    """

    def __init__(
        self,
        client: Client,
        relay: Callable[[], RelayManager | None],
        listen: tuple[str, int],
        *,
        namespace: str,
        host: str = "",
        routes: Sequence[web.RouteDef] = (),
        pages: tuple[str, web.Application] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._pages = pages
        self._client, self._relay, self._listen = client, relay, listen
        self._namespace, self._host, self._clock = namespace, host, clock or SystemClock()
        self._routes = routes
        self._stack = AsyncExitStack()
        self._authority = b""
        self.port = 0

    async def __aenter__(self) -> Self:
        """Raises KubeError if the certificate cannot be made, and OSError if the address cannot be used."""
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _start(self) -> None:
        authority = await find_authority(self._client, self._namespace)
        self._authority = authority.certificate
        hosts = (service_host(self._namespace), "localhost", "127.0.0.1", *([self._host] if self._host else []))
        proxy = FrontProxy(self._client, serving_pair(authority, hosts), clock=self._clock)
        following = asyncio.create_task(proxy.published.run(), name="front proxy")
        self._stack.push_async_callback(_ended, following)
        activity = Activity(self._relay, self._clock)
        counting = asyncio.create_task(activity.run(), name="activity")
        self._stack.push_async_callback(_ended, counting)
        api = RelayApi(self._client, self._relay, proxy, activity, clock=self._clock, routes=self._routes)
        runner = web.AppRunner(
            api.application(self._pages),
            access_log=None,
            handle_signals=False,
            shutdown_timeout=1.0,
            handler_cancellation=True,
        )
        self._stack.push_async_callback(runner.cleanup)
        await runner.setup()
        await web.TCPSite(runner, *self._listen, ssl_context=proxy.listening).start()
        self.port = runner.addresses[0][1]

    @property
    def registered(self) -> Registered:
        """What is to be registered."""
        return Registered(self._namespace, self._authority, self._host, self.port)

    def registration(self) -> Registration:
        """What registers it, for the leader to run."""
        return Registration(self._client, self.registered, clock=self._clock)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
