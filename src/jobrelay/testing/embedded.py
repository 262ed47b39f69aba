"""What a test gets: a cluster or a fleet, a namespace of its own there, and a kubeconfig that leads to it."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from jobrelay.testing.session import SessionClusters

if TYPE_CHECKING:
    from jobrelay.kube import Client
    from jobrelay.sdk import Relay

__all__ = ["EmbeddedCluster", "EmbeddedFleet", "open_cluster", "open_fleet"]

T = TypeVar("T")


class EmbeddedCluster:
    """An embedded cluster, shared with other tests.

    `namespace` is this test's own, and the one of the context in `kubeconfig`, a file for any client that reads
    kubeconfigs. `url` is the address.
    """

    def __init__(self, clusters: SessionClusters, namespace: str, folder: pathlib.Path) -> None:
        self._clusters = clusters
        self.name = next(iter(clusters.kubeconfigs))
        self.namespace = namespace
        self.kubeconfig = _kubeconfig(clusters.kubeconfigs[self.name], namespace, folder)
        self.url = str(json.loads(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])

    def call(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """What an asynchronous function returns, given a `jobrelay.kube.Client` of the administrator.

        For tests that are not asynchronous: `cluster.call(lambda client: client.list(JOBS, cluster.namespace))`.
        """
        return self._clusters.call(self.name, work)


class EmbeddedFleet(EmbeddedCluster):
    """A management cluster with workers and the relay; `kubeconfig`, `url` and `call` are of the management cluster.

    `workers` has the kubeconfig of each worker by its name; the test's namespace exists there too.
    """

    def __init__(self, clusters: SessionClusters, namespace: str, folder: pathlib.Path) -> None:
        super().__init__(clusters, namespace, folder)
        workers = {name: path for name, path in clusters.kubeconfigs.items() if name != self.name}
        self.workers = {name: _kubeconfig(path, namespace, folder) for name, path in workers.items()}
        self._stack = contextlib.ExitStack()

    @cached_property
    def relay(self) -> Relay:
        """The relay, for workloads of this test's namespace; it is closed when the test ends."""
        from jobrelay.sdk import Relay

        return self._stack.enter_context(Relay(self.kubeconfig, namespace=self.namespace))

    def close(self) -> None:
        """Closes `relay`; the fixture does so."""
        self._stack.close()


@contextlib.contextmanager
def open_cluster(clusters: SessionClusters, test: str, folder: pathlib.Path) -> Iterator[EmbeddedCluster]:
    """A cluster as one test sees it."""
    with _namespace(clusters, test) as namespace:
        yield EmbeddedCluster(clusters, namespace, folder)


@contextlib.contextmanager
def open_fleet(clusters: SessionClusters, test: str, folder: pathlib.Path) -> Iterator[EmbeddedFleet]:
    """A fleet as one test sees it."""
    with _namespace(clusters, test) as namespace:
        fleet = EmbeddedFleet(clusters, namespace, folder)
        with contextlib.closing(fleet):
            yield fleet


@contextlib.contextmanager
def _namespace(clusters: SessionClusters, test: str) -> Iterator[str]:
    """A namespace on every cluster. Deletion is begun, and not waited for: nobody gets the same name again.

    That of the management cluster goes first, so that the relay removes the mirrors of what was there.
    """
    from jobrelay.kube.resource import NAMESPACES

    name = clusters.namespace_for(test)
    body = {"metadata": {"name": name}}
    for each in clusters.kubeconfigs:
        clusters.call(each, lambda client: client.create(NAMESPACES, body))
    yield name
    for each in clusters.kubeconfigs:
        clusters.call(each, lambda client: client.delete(NAMESPACES, name))


def _kubeconfig(source: pathlib.Path, namespace: str, folder: pathlib.Path) -> pathlib.Path:
    """A copy whose context has this namespace, readable by nobody else."""
    content = json.loads(source.read_text())
    content["contexts"][0]["context"]["namespace"] = namespace
    copy = folder / source.name
    copy.touch(mode=0o600)
    copy.write_text(json.dumps(content, indent=2))
    return copy
