"""Pods are read far more often than they change: each is decoded once per version."""

from __future__ import annotations

from jobrelay.cluster.controllers.job.views import Pod
from jobrelay.kube.objects import Key, Object


class PodViews:
    def __init__(self) -> None:
        self._views: dict[Key, tuple[Object, Pod]] = {}

    def of(self, obj: Object) -> Pod:
        known = self._views.get(obj.key)
        if known is not None and known[0] is obj:
            return known[1]
        view = obj.decode(Pod)
        self._views[obj.key] = (obj, view)
        return view

    def forget(self, key: Key) -> None:
        self._views.pop(key, None)
