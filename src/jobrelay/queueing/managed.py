"""Which objects are queued: those with the label of a queue, and with one setting all others too."""

from __future__ import annotations

from collections.abc import Mapping

from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.kube import Cache, Object, Resource
from jobrelay.kube.objects import Key
from jobrelay.queueing import names
from jobrelay.queueing.configuration import Configuration
from jobrelay.workloads import Adapter
from jobrelay.workloads.names import ORIGIN


class ManagedObjects:
    """Says of an object whether it is queued, and where."""

    def __init__(
        self,
        originals: Mapping[Resource, tuple[Adapter, Cache]],
        namespaces: Cache,
        configuration: Configuration,
    ) -> None:
        self._originals, self._namespaces = originals, namespaces
        self._all = configuration.manage_jobs_without_queue_name
        self._selector = selector_from_object(configuration.managed_jobs_namespace_selector)
        self._frameworks = configuration.frameworks
        self._kinds = {(resource.api_version, resource.kind): resource for resource in originals}

    def queue_of(self, adapter: Adapter, obj: Object) -> str | None:
        """The name of the LocalQueue of an object, which may be empty; None if it is not queued."""
        resource, labels = adapter.resource, obj.metadata.labels
        if self._frameworks is not None and f"{resource.group}/{resource.kind.lower()}" not in self._frameworks:
            return None
        if ORIGIN in labels or self._has_managed_owner(obj):
            return None
        if names.QUEUE_NAME in labels:
            return labels[names.QUEUE_NAME]
        return "" if self._all and self.selects(obj.namespace) else None

    def selects(self, namespace: str) -> bool:
        """Whether objects of a namespace are queued although they name no queue, where that is set."""
        found = self._namespaces.get(Key("", namespace))
        return found is not None and self._selector.matches(found.metadata.labels)

    def _has_managed_owner(self, obj: Object) -> bool:
        """Whether an object belongs to one that is queued itself."""
        owner = obj.metadata.controller
        resource = self._kinds.get((owner.api_version, owner.kind)) if owner is not None else None
        if owner is None or resource is None:
            return False
        adapter, cache = self._originals[resource]
        parent = cache.get(Key(obj.namespace, owner.name))
        return parent is not None and parent.uid == owner.uid and self.queue_of(adapter, parent) is not None
