"""What the controllers of a program share: one client, one cache per resource, one clock, one manager that runs them.

Controllers talk to an API server, over a network or without a socket, so the same code runs against any Kubernetes.
Caches are created on first use and shared, so that ten controllers that follow pods cost one watch.
"""

from __future__ import annotations

from random import Random

from jobrelay.kube import CORE_V1, Cache, Client, EventRecorder, LeaderElection, Resource
from jobrelay.kube.clock import Clock, SystemClock
from jobrelay.kube.events import EventApi
from jobrelay.kube.metrics import MetricCollector
from jobrelay.kube.transport import Transport

from .manager import Group, Manager, Runnable
from .metrics import RunnablesCollector

__all__ = ["ControllerContext"]


class ControllerContext:
    """Every controller is set up with it; `manager.run()` then runs them all.

    - `program` is the user agent of its clients, by default that of Kubernetes' own controllers.
    - `timeout` limits each of their requests; None is for a server in the same process, where no request can get lost.
    - `random` jitters pauses and makes the names of events.
    - `namespace` limits its caches to one namespace.
    - With an `election`, controllers run only while this process leads; caches are filled before, so that a successor
      can begin at once.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        program: str = "kube-controller-manager",
        clock: Clock | None = None,
        timeout: float | None = 30.0,
        random: Random | None = None,
        namespace: str | None = None,
        election: LeaderElection | None = None,
    ) -> None:
        self.clock, self._random = clock or SystemClock(), random or Random()
        self._transport, self._timeout, self._namespace = transport, timeout, namespace
        self.client = self.client_of(program)
        self.manager = Manager(election=election, clock=self.clock)
        self._group = Group.CONTROLLERS if election is None else Group.LEADER
        self._collectors: list[MetricCollector] = [RunnablesCollector(lambda: self.manager.members)]
        self._caches: dict[Resource, Cache] = {}

    @property
    def collectors(self) -> tuple[MetricCollector, ...]:
        """The controllers' metrics."""
        return tuple(self._collectors)

    def add_collector(self, collector: MetricCollector) -> None:
        self._collectors.append(collector)

    def add(self, controller: Runnable) -> None:
        """Have the manager run a controller, with an election only while this process leads."""
        self.manager.add(controller, self._group)

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
            found = Cache(self.client, resource, self._namespace, clock=self.clock, random=self._random)
            self._caches[resource] = found
            self.manager.add(found, Group.CACHES)
        return found
