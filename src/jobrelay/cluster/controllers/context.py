"""What the cluster's controllers share: one client, one cache per resource, one clock, one manager that runs them.

Controllers talk to the API server as any other program would, only without a socket, so the same code could run against
any Kubernetes. Caches are made on first use and shared, so that ten controllers that look at pods cost one watch.
"""

from __future__ import annotations

from jobrelay.control import Group, Manager, RunnablesCollector
from jobrelay.kube import CORE_V1, Cache, Client, EventRecorder, Resource
from jobrelay.kube.clock import Clock, SystemClock
from jobrelay.kube.metrics import MetricCollector
from jobrelay.kube.transport import Transport

USER_AGENT = "kube-controller-manager"


class Context:
    """Handed to every controller when it is set up; `manager.run()` then runs them all.

    `timeout` bounds each of their requests; None is for a server in the same process, where no request can get lost.
    `collectors` are their metrics, which the API server shows.
    """

    def __init__(self, transport: Transport, *, clock: Clock | None = None, timeout: float | None = 30.0) -> None:
        self.clock = clock or SystemClock()
        self._transport, self._timeout = transport, timeout
        self.client = self.client_of(USER_AGENT)
        self.manager = Manager(clock=self.clock)
        self.collectors: list[MetricCollector] = [RunnablesCollector(lambda: self.manager.members)]
        self._caches: dict[Resource, Cache] = {}

    def client_of(self, program: str) -> Client:
        """A client that says it is this program."""
        return Client(self._transport, clock=self.clock, user_agent=program, timeout=self._timeout)

    def recorder(self, component: str) -> EventRecorder:
        """A recorder of events in the name of one controller; it is run with the controllers."""
        made = EventRecorder(self.client, component, api=CORE_V1, clock=self.clock)
        self.manager.add(made)
        return made

    def cache(self, resource: Resource) -> Cache:
        """The shared cache of all objects of a resource."""
        found = self._caches.get(resource)
        if found is None:
            found = self._caches[resource] = Cache(self.client, resource, clock=self.clock)
            self.manager.add(found, Group.CACHES)
        return found
