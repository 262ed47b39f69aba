"""What the cluster's controllers share: one client, one cache per resource, one clock, one manager that runs them.

Controllers talk to the API server as any other program would, only without a socket, so the same code runs against any
Kubernetes. Caches are created on first use and shared, so that ten controllers that follow pods cost one watch.
"""

from __future__ import annotations

from random import Random

from jobrelay.control import Group, Manager, RunnablesCollector
from jobrelay.kube import CORE_V1, Cache, Client, EventRecorder, Resource
from jobrelay.kube.clock import Clock, SystemClock
from jobrelay.kube.events import EventApi
from jobrelay.kube.metrics import MetricCollector
from jobrelay.kube.transport import Transport

USER_AGENT = "kube-controller-manager"


class ControllerContext:
    """Every controller is set up with it; `manager.run()` then runs them all.

    `timeout` limits each of their requests; None is for a server in the same process, where no request can get lost.
    `random` jitters pauses and makes the names of events.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock | None = None,
        timeout: float | None = 30.0,
        random: Random | None = None,
    ) -> None:
        self.clock, self._random = clock or SystemClock(), random or Random()
        self._transport, self._timeout = transport, timeout
        self.client = self.client_of(USER_AGENT)
        self.manager = Manager(clock=self.clock)
        self._collectors: list[MetricCollector] = [RunnablesCollector(lambda: self.manager.members)]
        self._caches: dict[Resource, Cache] = {}

    @property
    def collectors(self) -> tuple[MetricCollector, ...]:
        """The controllers' metrics, which the API server shows."""
        return tuple(self._collectors)

    def add_collector(self, collector: MetricCollector) -> None:
        self._collectors.append(collector)

    def client_of(self, program: str) -> Client:
        """A client with this program's user agent."""
        return Client(self._transport, clock=self.clock, user_agent=program, timeout=self._timeout)

    def recorder(
        self, component: str, instance: str = "", *, client: Client | None = None, api: EventApi = CORE_V1
    ) -> EventRecorder:
        """An event recorder for one component; the manager runs it."""
        made = EventRecorder(client or self.client, component, instance, api=api, clock=self.clock, random=self._random)
        self.manager.add(made)
        return made

    def cache(self, resource: Resource) -> Cache:
        """The shared cache of a resource."""
        found = self._caches.get(resource)
        if found is None:
            found = self._caches[resource] = Cache(self.client, resource, clock=self.clock, random=self._random)
            self.manager.add(found, Group.CACHES)
        return found
