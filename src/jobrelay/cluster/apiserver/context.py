"""What every handler needs of its server: the store, the resources, the clock, randomness."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from jobrelay.cluster.apiserver.access.rbac import Authorizer
from jobrelay.cluster.apiserver.outbound import Outbound
from jobrelay.cluster.apiserver.registrations.webhooks import WebhookConfigurations
from jobrelay.cluster.apiserver.resources import ResourceTable
from jobrelay.cluster.apiserver.streams import NodeStreams
from jobrelay.cluster.store import Store
from jobrelay.kube.metrics import MetricCollector

_RANDOM = Random()
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def random_suffix(length: int = 5) -> str:
    """A suffix as Kubernetes generates them: no vowels, so no words."""
    return "".join(_RANDOM.choices(_SUFFIX_ALPHABET, k=length))


def new_uid() -> str:
    """A random uid (RFC 4122, version 4)."""
    raw = os.urandom(16)
    digits = raw.hex()
    variant = "89ab"[raw[8] >> 6]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


@dataclass(slots=True)
class ServerContext:
    store: Store
    resources: ResourceTable
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    suffix: Callable[[], str] = random_suffix
    uid: Callable[[], str] = new_uid
    random: Random = field(default_factory=Random)
    authorizer: Authorizer = field(init=False)
    outbound: Outbound = field(init=False)
    webhooks: WebhookConfigurations = field(init=False)
    nodes: NodeStreams | None = None
    collectors: list[MetricCollector] = field(default_factory=list)  # of what runs beside the server
    labelled_late: set[str] = field(default_factory=set)  # uids of objects whose late labels are not written yet

    def __post_init__(self) -> None:
        self.authorizer = Authorizer(self.store)
        self.outbound = Outbound(self.store)
        self.webhooks = WebhookConfigurations(self.store)
