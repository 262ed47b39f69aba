"""What the cluster's controllers share: one client, one cache per resource, one clock, one manager that runs them.

Controllers talk to the API server as any other program would, only without a socket, so the same code runs against any
Kubernetes. Caches are created on first use and shared, so that ten controllers that follow pods cost one watch.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobrelay.cluster.controllers.events import Recorder
from jobrelay.cluster.controllers.figures import Figures, queue_figures
from jobrelay.control import Controller, Group, Manager
from jobrelay.kube import Cache, Client, Resource
from jobrelay.kube.clock import Clock, SystemClock
from jobrelay.kube.transport import Transport

USER_AGENT = "kube-controller-manager"


class ControllerContext:
    """Every controller is set up with it; `manager.run()` then runs them all.

    `timeout` limits each of their requests; None is for a server in the same process, where no request can get lost.
    """

    def __init__(self, transport: Transport, *, clock: Clock | None = None, timeout: float | None = 30.0) -> None:
        self.clock = clock or SystemClock()
        self._transport, self._timeout = transport, timeout
        self.client = self.client_of(USER_AGENT)
        self.manager = Manager(clock=self.clock)
        self._collectors: list[Figures] = [self._queues]
        self._caches: dict[Resource, Cache] = {}

    def _queues(self) -> Iterator[str]:
        return queue_figures([each for each in self.manager.members if isinstance(each, Controller)])

    @property
    def collectors(self) -> tuple[Figures, ...]:
        """The controllers' metrics, which the API server shows."""
        return tuple(self._collectors)

    def add_collector(self, collector: Figures) -> None:
        self._collectors.append(collector)

    def client_of(self, program: str) -> Client:
        """A client with this program's user agent."""
        return Client(self._transport, clock=self.clock, user_agent=program, timeout=self._timeout)

    def recorder(self, component: str) -> Recorder:
        """An event recorder for one controller; the manager runs it."""
        made = Recorder(self.client, component, clock=self.clock)
        self.manager.add(made)
        return made

    def cache(self, resource: Resource) -> Cache:
        """The shared cache of a resource."""
        found = self._caches.get(resource)
        if found is None:
            found = self._caches[resource] = Cache(self.client, resource, clock=self.clock)
            self.manager.add(found, Group.CACHES)
        return found
