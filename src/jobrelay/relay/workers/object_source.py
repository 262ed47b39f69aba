"""Workers registered as MultiKueueCluster objects, with their kubeconfigs in Secrets or files.

All three kinds are watched, so that every change and every rotation of a Secret arrives at once. Newer definitions serve
v1beta2 and older ones only v1beta1; the first that is served is used. As long as the management cluster cannot be reached,
what was known last stays true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random

import structlog

from jobrelay.kube import Cache, Client, Clock, Forbidden, Key, KubeError, Object, Resource, serves
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import SECRETS
from jobrelay.relay.workers.access import bad
from jobrelay.relay.workers.files import LOOK_EVERY, KubeconfigFile, read_foreign, refreshed
from jobrelay.relay.workers.objects import CLUSTERS, CONFIGS, Location, chosen, location, secret_access, spec_of
from jobrelay.relay.workers.signal import Signal
from jobrelay.relay.workers.spec import Access, WorkerSpec
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.trim import trimmed

__all__ = ["ObjectSource"]

log = structlog.get_logger(__name__)

_ASK_AGAIN = 60.0


class ObjectSource:
    """Reads the registry from the management cluster; `config` names the MultiKueueConfig that restricts it."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        clock: Clock,
        config: str | None = None,
        allow_exec: frozenset[str] = frozenset(),
        random: Random | None = None,
    ) -> None:
        self._client, self._clock, self._random = client, clock, random or Random()
        self._namespace, self._config, self._allow_exec = namespace, config, allow_exec
        self._changed: Signal[[]] = Signal()
        self._synced = asyncio.Event()
        self._workers: dict[str, WorkerSpec] = {}
        self._files: dict[str, KubeconfigFile] = {}
        self._read: dict[str, tuple[str, Access]] = {}
        """What the Secrets say, by name, and as of which version: reading them takes long."""
        self._secrets = Cache(
            client,
            SECRETS,
            namespace,
            clock=clock,
            random=self._random,
            transform=trimmed,
            terminal=(Forbidden,),
            on_connection_change=self._review,
        )
        self.clusters: Cache | None = None
        """The MultiKueueClusters, once it is known which version is served."""
        self._configs: Cache | None = None

    @property
    def workers(self) -> Mapping[str, WorkerSpec]:
        return self._workers

    def secret(self, worker: str) -> Object | None:
        """The Secret with a worker's kubeconfig, if it is in one."""
        cluster = self.clusters.get(Key("", worker)) if self.clusters is not None else None
        where = location(cluster) if cluster is not None else None
        if not isinstance(where, Location) or where.in_file:
            return None
        return self._secrets.get(Key(self._namespace, where.name))

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        return self._changed.subscribe(callback)

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def run(self) -> None:
        version = await self._served()
        self.clusters, self._configs = self._cache(CLUSTERS[version]), self._cache(CONFIGS[version])
        for cache in (self.clusters, self._configs, self._secrets):
            cache.subscribe(self._seen)
        await until_first(self.clusters.run(), self._configs.run(), self._follow_secrets(), self._look_at_files())

    def _cache(self, resource: Resource) -> Cache:
        return Cache(
            self._client,
            resource,
            clock=self._clock,
            random=self._random,
            transform=trimmed,
            on_connection_change=self._review,
        )

    async def _served(self) -> str:
        """The newest version that the management cluster has, waited for if it has none yet."""
        backoff = Backoff(random=self._random)
        while True:
            try:
                for version, resource in CLUSTERS.items():
                    if await serves(self._client, resource):
                        return version
                log.warning("management cluster does not serve MultiKueueCluster objects yet")
            except KubeError as error:
                log.warning("MultiKueueCluster objects not read", error=str(error))
            await sleep(self._clock, backoff.next())

    async def _follow_secrets(self) -> None:
        while True:
            try:
                await self._secrets.run()
            except Forbidden as error:
                log.warning("Secrets with kubeconfigs not read", error=str(error))
            await sleep(self._clock, _ASK_AGAIN)

    async def _look_at_files(self) -> None:
        while True:
            await sleep(self._clock, LOOK_EVERY)
            if refreshed(self._files.values()):
                self._review()

    def _seen(self, old: Object | None, new: Object | None) -> None:
        self._review()

    def _review(self) -> None:
        """Work out anew what is registered."""
        clusters, configs = self.clusters, self._configs
        if clusters is None or configs is None or not clusters.synced.is_set() or not configs.synced.is_set():
            return
        if not self._secrets.synced.is_set() and not self._secrets_forbidden:
            return
        config = configs.get(Key("", self._config)) if self._config is not None else None
        objects = {obj.name: obj for obj in clusters}
        names = chosen(list(objects), config, self._config)
        fresh = {name: spec_of(objects[name], order, self._access) for order, name in enumerate(names)}
        first = not self._synced.is_set()
        if first or fresh != self._workers:
            self._workers = fresh
            self._synced.set()
            self._changed()

    @property
    def _secrets_forbidden(self) -> bool:
        return isinstance(self._secrets.last_error, Forbidden)

    def _access(self, where: Location) -> Access:
        if where.in_file:
            return self._file(where.name).access
        if self._secrets_forbidden:
            return bad(f"Secrets in namespace {self._namespace!r} may not be read: {self._secrets.last_error}")
        secret = self._secrets.get(Key(self._namespace, where.name))
        version = secret.resource_version if secret is not None else ""
        known = self._read.get(where.name)
        if known is None or known[0] != version:
            access = secret_access(secret, where.name, self._namespace, self._allow_exec)
            known = self._read[where.name] = (version, access)
        return known[1]

    def _file(self, path: str) -> KubeconfigFile:
        if path not in self._files:
            self._files[path] = KubeconfigFile(Path(path), partial(read_foreign, allow_exec=self._allow_exec))
        return self._files[path]
