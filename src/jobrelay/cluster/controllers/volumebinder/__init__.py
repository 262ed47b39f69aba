"""Binds claims to volumes that exist, as kube-controller-manager's volume binder does; it provisions none."""

from __future__ import annotations

from jobrelay.cluster.controllers.volumebinder.controller import set_up

__all__ = ["set_up"]
