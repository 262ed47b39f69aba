"""Workers registered as MultiKueueCluster objects, with kubeconfigs in Secrets or files.

All three kinds are watched, so every change and every rotation of a Secret takes effect at once. Newer definitions
serve v1beta2 and older ones only v1beta1; the first one that is served is used. While the management cluster is
unreachable, the last known registrations stay valid.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random

from jobrelay.control import Runnable
from jobrelay.kube import Cache, Client, Clock, Forbidden, Key, KubeError, Object, Resource, serves
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import SECRETS
from jobrelay.logs import get_logger
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.workers.access import bad
from jobrelay.relay.workers.conditions import ConditionWriter
from jobrelay.relay.workers.connection import WorkerConnection
from jobrelay.relay.workers.kubeconfig_file import CHECK_INTERVAL, KubeconfigFile, read_foreign, refreshed
from jobrelay.relay.workers.management_cache import management_cache
from jobrelay.relay.workers.multikueue import (
    CLUSTERS,
    CONFIGS,
    KubeconfigLocation,
    location,
    secret_access,
    selected_names,
    spec_of,
)
from jobrelay.relay.workers.source import WorkerSource
from jobrelay.relay.workers.spec import Access
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.token_renewal import TokenRenewer

log = get_logger(__name__)

_RETRY = 60.0


class ObjectSource(WorkerSource):
    """Reads registrations from the management cluster; `config` names the MultiKueueConfig that restricts them."""

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
        super().__init__()
        self._client, self._clock, self._random = client, clock, random or Random()
        self._namespace, self._config, self._allow_exec = namespace, config, allow_exec
        self._synced = asyncio.Event()
        self._files: dict[str, KubeconfigFile] = {}
        self._read: dict[str, tuple[str, Access]] = {}
        """By name of a Secret: its resourceVersion and what was parsed from it, since parsing is slow."""
        self._secrets = management_cache(
            client, SECRETS, namespace, clock=clock, random=self._random, terminal=(Forbidden,),
            on_connection_change=self._review,
        )  # fmt: skip
        self.clusters: Cache | None = None
        """The MultiKueueClusters, set when it is known which version is served."""
        self._configs: Cache | None = None

    def secret(self, worker: str) -> Object | None:
        """The Secret with a worker's kubeconfig, if it is in one."""
        cluster = self.clusters.get(Key("", worker)) if self.clusters is not None else None
        where = location(cluster) if cluster is not None else None
        if not isinstance(where, KubeconfigLocation) or where.in_file:
            return None
        return self._secrets.get(Key(self._namespace, where.name))

    def leader_runnables(
        self, client: Client, workers: Mapping[str, WorkerConnection], metrics: RelayMetrics, writes: Callable[[], bool]
    ) -> Sequence[Runnable]:
        """Writes the conditions of the MultiKueueClusters, and renews the tokens in their Secrets."""
        conditions = ConditionWriter(client, lambda: self.clusters, workers, clock=self._clock, writes=writes)
        tokens = TokenRenewer(client, self.secret, workers, metrics, clock=self._clock, writes=writes)
        return conditions, tokens

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def run(self) -> None:
        version = await self._served()
        self.clusters, self._configs = self._cache(CLUSTERS[version]), self._cache(CONFIGS[version])
        for cache in (self.clusters, self._configs, self._secrets):
            cache.subscribe(self._object_changed)
        await until_first(self.clusters.run(), self._configs.run(), self._follow_secrets(), self._check_files())

    def _cache(self, resource: Resource) -> Cache:
        return management_cache(
            self._client, resource, clock=self._clock, random=self._random, on_connection_change=self._review
        )

    async def _served(self) -> str:
        """The newest version that the management cluster serves; waits until it serves one."""
        backoff = Backoff(random=self._random)
        while True:
            try:
                for version, resource in CLUSTERS.items():
                    if await serves(self._client, resource):
                        return version
                log.warning("the management cluster does not serve MultiKueueCluster objects yet")
            except KubeError as error:
                log.warning("MultiKueueCluster objects not read", error=str(error))
            await sleep(self._clock, backoff.next())

    async def _follow_secrets(self) -> None:
        while True:
            try:
                await self._secrets.run()
            except Forbidden as error:
                log.warning("Secrets with kubeconfigs not read", error=str(error))
            await sleep(self._clock, _RETRY)

    async def _check_files(self) -> None:
        while True:
            await sleep(self._clock, CHECK_INTERVAL)
            if refreshed(self._files.values()):
                self._review()

    def _object_changed(self, old: Object | None, new: Object | None) -> None:
        self._review()

    def _review(self) -> None:
        """Compute the registrations anew."""
        clusters, configs = self.clusters, self._configs
        if clusters is None or configs is None or not clusters.synced.is_set() or not configs.synced.is_set():
            return
        if not self._secrets.synced.is_set() and not self._secrets_forbidden:
            return
        config = configs.get(Key("", self._config)) if self._config is not None else None
        objects = {obj.name: obj for obj in clusters}
        names = selected_names(list(objects), config, self._config)
        fresh = {name: spec_of(objects[name], order, self._access) for order, name in enumerate(names)}
        first = not self._synced.is_set()
        if first or fresh != self._workers:
            self._workers = fresh
            self._synced.set()
            self._changed()

    @property
    def _secrets_forbidden(self) -> bool:
        return isinstance(self._secrets.last_error, Forbidden)

    def _access(self, where: KubeconfigLocation) -> Access:
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
