"""Decides which objects on a worker are mirrors.

An object with our label is a mirror if it is where the mirror of the original that it names has to be, and its proof
(`jobrelay.relay.proofs`) is valid there. All others are look-alikes.

What was proven once stays proven for as long as the object exists, by its own uid, which nobody can choose. So when
someone changes the annotations of a mirror, it is still known which run it is, and the relay puts them back. Verifying
costs microseconds, and is done once for each uid and text of the annotations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from jobrelay.kube import Object
from jobrelay.kube.objects import Key
from jobrelay.relay.proofs import ProofKeys, ProofSubject, cluster_binding
from jobrelay.relay.signal import Signal
from jobrelay.relay.workload_kind import mirror_name
from jobrelay.workloads.names import EPOCH, ORIGIN_NAME, ORIGIN_UID, PROOF


class Proofs:
    """The keys in use; `origin` is the value of the label of all mirrors."""

    def __init__(self, origin: str, keys: ProofKeys | None = None) -> None:
        self.origin = origin
        self._keys = ProofKeys()
        self._known = asyncio.Event()
        self._changed: Signal[[]] = Signal()
        if keys is not None:
            self.use(keys)

    @property
    def keys(self) -> ProofKeys:
        return self._keys

    def use(self, keys: ProofKeys) -> None:
        """Sign and verify with these keys from now on."""
        changed, self._keys = keys != self._keys, keys
        self._known.set()
        if changed:
            self._changed()

    async def wait_known(self) -> None:
        """Return once there are keys: nothing can be judged before."""
        await self._known.wait()

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called when other keys are used; returns how to unsubscribe."""
        return self._changed.subscribe(callback)


class Site(NamedTuple):
    """Where the mirrors of a worker are."""

    worker: str
    identity: str
    """Of the worker's cluster; empty if it may not be read."""
    own_cluster: bool
    """Whether it is the management cluster itself."""


_Claim: TypeAlias = tuple[str, str, str, str]
"""What an object says about itself: uid and name of its original, epoch, and the proof of these."""


class MirrorProver:
    """Judges the objects of one kind on one worker; `site` returns what is known about the worker now."""

    def __init__(self, proofs: Proofs, kind: str, site: Callable[[], Site]) -> None:
        self._proofs, self._kind, self._site = proofs, kind, site
        self._proven: dict[str, _Claim] = {}

    def prove(self, obj: Object) -> Object | None:
        """The object as a mirror, None if it is none.

        If its annotations were changed after it was proven, it is returned with those that were proven, and without a
        proof, so that they are written again.
        """
        annotations, known = obj.metadata.annotations, self._proven.get(obj.uid)
        claim = _claim(annotations)
        if claim == known:
            self._proven[obj.uid] = claim  # whose texts the object holds too
            return obj
        if self._verify(obj, claim):
            self._proven[obj.uid] = claim
            return obj
        return _restored(obj, known) if known is not None else None

    def forget(self, uid: str) -> None:
        """An object was deleted."""
        self._proven.pop(uid, None)

    def _verify(self, obj: Object, claim: _Claim) -> bool:
        site, (uid, name, epoch, proof) = self._site(), claim
        if not (uid and proof) or obj.name != mirror_name(Key(obj.namespace, name), own_cluster=site.own_cluster):
            return False
        verify, origin, key = self._proofs.keys.verify, self._proofs.origin, obj.key
        bindings = dict.fromkeys((cluster_binding(site.worker, site.identity), cluster_binding(site.worker, "")))
        subjects = (ProofSubject(origin, self._kind, uid, binding, *key, epoch) for binding in bindings)
        return any(verify(subject, proof) for subject in subjects)


def _claim(annotations: Mapping[str, str]) -> _Claim:
    get = annotations.get
    return get(ORIGIN_UID, ""), get(ORIGIN_NAME, ""), get(EPOCH, ""), get(PROOF, "")


def _restored(obj: Object, known: _Claim) -> Object:
    proven = dict(zip((ORIGIN_UID, ORIGIN_NAME, EPOCH), known, strict=False))
    annotations = {key: value for key, value in obj.metadata.annotations.items() if key != PROOF} | proven
    return Object(replace(obj.metadata, annotations=annotations), obj.raw)
