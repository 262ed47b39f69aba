"""One workload at one moment, as a value: the only input of `reconcile_original`, `reconcile_mirror` and `explain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import SERVICEACCOUNTS
from jobrelay.relay.admission import ADMITTED, AdmissionAnswer, Admitted, NotAdmitted
from jobrelay.relay.claims import LineRank
from jobrelay.relay.dependencies.answers import MOST_ASKED, NO_ANSWERS, Answers, missing, unanswered
from jobrelay.relay.dependencies.texts import lacks
from jobrelay.relay.fencing import NO_STOPS, Lease, LeaseStops, clock_problem
from jobrelay.relay.health import frozen, lost_at
from jobrelay.relay.lookalikes import LookAlike
from jobrelay.relay.mirror_pods.observed import NOTHING_OBSERVED, ObservedPods
from jobrelay.relay.model import Refusal, RemovedWorker, State, WorkerFacts
from jobrelay.relay.names import FENCING
from jobrelay.relay.pending import FIRST, Turn
from jobrelay.relay.placement import Placement, PlacementPolicy, Placer, read_request
from jobrelay.relay.proofs import ProofKeys, ProofSubject, cluster_binding
from jobrelay.relay.runs import NO_RUNS, RunHistory, unknown_runs, unregistered_run
from jobrelay.relay.settings import Settings
from jobrelay.relay.worker_assignment import Run, WorkerAssignment
from jobrelay.relay.workload_kind import WorkloadRef, mirror_name
from jobrelay.workloads import Adapter, ObjectName, Reference, Workload, WorkloadDemand, demand_of, references_of
from jobrelay.workloads.priority import priority_class

_LOOK_AGAIN: Final = 5.0
"""When to look again at a run that is due to be let go, in seconds: an operator or the freeze may hold it."""


class Mirror(msgspec.Struct, frozen=True):
    """A mirror as last seen on its worker."""

    worker: str
    obj: Object
    facts: Workload
    epoch: int


class WorkloadSnapshot(msgspec.Struct, frozen=True, eq=False, dict=True):
    """An original, its assignment, its mirrors, the workers, refusals, the settings and the time."""

    adapter: Adapter
    original: Object
    workload: Workload
    """The original as its adapter reads it."""
    assignment: WorkerAssignment | None
    mirrors: Mapping[str, Mirror]
    """By worker; only those that carry the uid of this original."""
    workers: Mapping[str, WorkerFacts]
    removed: Mapping[str, RemovedWorker]
    """Workers that are no longer registered, and since when: by name, and by the uid of the cluster."""
    settings: Settings
    placer: Placer
    policy: PlacementPolicy
    now: datetime
    refusals: Mapping[str, Refusal] = {}
    """By worker: why it does not take this workload."""
    shapes: Mapping[str, Mapping[str, Refusal | None]] = {}
    """By worker and shape: None if the worker accepted a workload of that shape, or why it refused one."""
    namespace_annotations: Mapping[str, str] = {}
    waited: float = 0.0
    """For how many seconds a new status has been held back."""
    last_error: str = ""
    """The error of the last attempt to create or change its mirror."""
    owners: Mapping[str, str] = {}
    """By uid of a cluster: the name of the worker that reaches it."""
    known_since: datetime | None = None
    """When this process first knew the registered workers."""
    inherited: bool = False
    """Whether this process did not see it from its beginning."""
    runs: RunHistory = NO_RUNS
    remembered: WorkerAssignment | None = None
    """The newest assignment that this process wrote, or the one that it found first."""
    committing: bool = False
    """Whether another assignment is being written."""
    why_not_gone: str = ""
    """Why an earlier run could not be proven gone yet."""
    lease_stops: LeaseStops = NO_STOPS
    """How often in a row its runs were stopped by their leases."""
    led_since: datetime | None = None
    """When this replica began to lead."""
    keys: ProofKeys = ProofKeys()
    """The keys that sign proofs; none before they are read."""
    lookalikes: Mapping[tuple[str, Key], LookAlike] = {}
    """By worker and key: objects that name this original, but are not proven to be its mirrors."""
    answers: Mapping[str, Answers] = {}
    """By worker: which of the objects that workloads name exist there."""
    definitions: Mapping[ObjectName, Object] = {}
    """Objects of the management cluster that name others in turn."""
    admission: AdmissionAnswer = ADMITTED
    """Whether it may be placed, and on which workers."""
    priority_of: Callable[[str], int] = lambda name: 0
    """From the name of a PriorityClass, which may be empty, to its value."""
    find_turn: Callable[[WorkloadRef, str, LineRank], Turn] = lambda ref, group, rank: FIRST
    """From a workload, its group and its rank to its turn in line."""
    pods_of: Callable[[Mirror], ObservedPods] = lambda mirror: NOTHING_OBSERVED
    """From a mirror to what is known of its pods."""

    @property
    def kind(self) -> str:
        """The name of its kind: `jobs.batch`."""
        return str(self.adapter.resource)

    @property
    def delegated(self) -> bool:
        """Whether its managedBy hands it to the relay."""
        return self.workload.managed_by in self.adapter.managers

    @cached_property
    def demand(self) -> WorkloadDemand:
        return demand_of(self.adapter, self.original, self.definitions)

    @cached_property
    def fenced(self) -> bool:
        """Whether two mirrors of this workload must never run at the same time.

        A worker's own queue decides about the spec of its mirrors, so there are no leases on such workers.
        """
        if not self.adapter.enforces_deadline or self.prebuilt_on(self.runs_on):
            return False
        own = self.original.metadata.annotations.get(FENCING) or self.namespace_annotations.get(FENCING)
        return own == "true" if own in ("true", "false") else self.settings.fencing

    @property
    def outdated(self) -> bool:
        """Whether its assignment was made under an admission that is over, since it has another one by now."""
        to, now = self.assignment, self.admission
        return to is not None and isinstance(now, Admitted) and bool(to.admission and now.id) and to.admission != now.id

    @property
    def taken_back(self) -> bool:
        """Whether the admission is over under which its assignment was made: that run has to end."""
        return self.outdated or (isinstance(self.admission, NotAdmitted) and self.admission.taken_back)

    @property
    def suspended_by_admission(self) -> bool:
        """Whether it is suspended by whoever admits it, who resumes it when a worker is chosen."""
        return self.workload.suspended and isinstance(self.admission, Admitted) and self.admission.while_suspended

    @property
    def about_to_resume(self) -> bool:
        """Whether a worker has let it in, and whoever admits it will resume it next.

        It shows no start until then: what has started is not changed any more, so it could not be resumed.
        """
        now = self.admission
        let_in = self.suspended_by_admission and isinstance(now, Admitted) and bool(now.chosen)
        return let_in and self.workload.started is None

    @property
    def waits_for_resume(self) -> bool:
        """Whether its mirror is created when it is resumed; a worker with its own queue holds mirrors back itself."""
        return self.suspended_by_admission and not self.prebuilt_on(self.runs_on)

    def prebuilt_on(self, worker: str) -> str:
        """The name of the queued object that its mirror on a worker refers to; empty where the worker has no queues."""
        now = self.admission
        return now.prebuilt if isinstance(now, Admitted) and worker in now.asked else ""

    @property
    def lease(self) -> Lease | None:
        """How the mirror of the current epoch is leased; None if it is not.

        A lease on record is kept until the record is removed, even if the workload is not fenced any more.
        """
        to = self.assignment
        if not self.fenced and (to is None or not to.started):
            return None
        worker = self.workers.get(self.runs_on)
        return Lease(self.settings.lease, worker.clock if worker is not None else None)

    def obstacle(self, mirror: Mirror) -> str:
        """Why a fenced mirror that is suspended is not released now; empty if it can be."""
        if self.workload.suspended:
            return "it is suspended"
        if not mirror.facts.halted:
            return f"the {self.adapter.resource.kind} controller of {mirror.worker} has not observed it yet"
        if self.assignment is not None and self.assignment.started:
            return "the record of its start has to be removed first"
        return self.clock_problem(mirror.worker)

    def time_on(self, worker: str) -> datetime:
        """The time by a worker's clock, which its mirrors are dated by; by our own if that is unknown."""
        facts = self.workers.get(worker)
        return facts.clock.earliest if facts is not None and facts.clock is not None else self.now

    def clock_problem(self, worker: str) -> str:
        """Why a worker's clock does not allow leases there; empty if it does."""
        return clock_problem(self.workers[worker].clock if worker in self.workers else None, self.settings.margin)

    @cached_property
    def frozen(self) -> bool:
        return frozen(self.workers.values(), self.settings.freeze_window)

    @property
    def mirror(self) -> Mirror | None:
        """The mirror of the current epoch, if it exists."""
        if self.assignment is None:
            return None
        found = self.mirrors.get(self.runs_on)
        return found if found is not None and found.epoch == self.assignment.epoch else None

    @cached_property
    def unproven(self) -> tuple[LookAlike, ...]:
        """The look-alikes that may be mirrors, since they are where one would be: no run is started beside them."""
        if not self.lookalikes:
            return ()
        key = self.original.key
        places = [
            (worker, own, Key(key.namespace, mirror_name(key, own_cluster=own)))
            for worker, facts in self.workers.items()
            for own in (False, True)
            if facts.connected
        ]
        found = [(own, self.lookalikes.get((worker, place))) for worker, own, place in places]
        return tuple(each for own, each in found if each is not None and each.own_cluster is own)

    @cached_property
    def pods(self) -> ObservedPods:
        """What is known of the pods of the present run."""
        return self.pods_of(self.mirror) if self.mirror is not None else NOTHING_OBSERVED

    def proof(self, worker: str, name: str) -> str:
        """The proof of the mirror of the current epoch on a worker, under this name."""
        assert self.assignment is not None
        cluster = cluster_binding(worker, self.workers[worker].identity)
        return self.keys.sign(
            ProofSubject(
                self.settings.origin,
                self.kind,
                self.original.uid,
                cluster,
                self.original.namespace,
                name,
                str(self.assignment.epoch),
            )
        )

    # Runs

    def worker_of(self, run: Run) -> WorkerFacts | None:
        """The worker that reaches the cluster of a run, under whatever name; None if none does."""
        return self.workers.get(self._name_of(run))

    def _name_of(self, run: Run) -> str:
        """The name of that worker; empty if its own name is that of another cluster by now."""
        name = self.owners.get(run.uid)
        if name is None:
            name = "" if run.uid and run.cluster in self.owners.values() else run.cluster
        return name

    @cached_property
    def runs_on(self) -> str:
        """The name of the worker that reaches the cluster of the current run; empty if none does."""
        name = self._name_of(self.assignment.run) if self.assignment is not None else ""
        return name if name in self.workers else ""

    @cached_property
    def unnamed_cluster(self) -> bool:
        """Whether the assignment names no cluster uid although it is known by now."""
        worker = self.workers.get(self.runs_on)
        named = self.assignment is None or self.assignment.uid != ""
        return not named and worker is not None and worker.connected and worker.identity != ""

    def lost_since(self, run: Run) -> datetime | None:
        """Since when the cluster of a run has not answered; None while it does."""
        worker = self.worker_of(run)
        if worker is not None:
            return worker.lost_since
        removed = self._removal(run)
        return removed.since if removed is not None else self.known_since

    def _removal(self, run: Run) -> RemovedWorker | None:
        """What is known of the worker of a run that is no longer registered; of an unknown one what was removed last,
        unless this process began to know workers after that."""
        if run.cluster:
            return self.removed.get(run.uid) or self.removed.get(run.cluster)
        last = max(self.removed.values(), key=lambda each: each.since, default=None)
        return last if last is not None and self.known_since is not None and last.since > self.known_since else None

    def free_at(self, run: Run) -> datetime | None:
        """When the rule for lost workers lets a run go; None while its cluster answers."""
        leased = self.fenced and not self.runs.is_withheld(run)
        grace = self.demand.grace if leased else None
        worker, since = self.worker_of(run), self.lost_since(run)
        source = worker if worker is not None else self._removal(run)
        silent = source.silent_since if source is not None else None
        return lost_at(worker, since, self.settings, grace, self.led_since, silent)

    def lease_ends(self, run: Run) -> bool:
        """Whether a run that is out of reach can be waited out.

        One that is fenced, may have been released and was not seen to start may start there at any time: only an
        operator can declare it lost.
        """
        return not self.fenced or bool(run.started) or self.runs.is_withheld(run) or self._declared_lost(run)

    def lets_go(self, run: Run) -> bool:
        """Whether the rule for lost workers lets a run go now."""
        free_at = self.free_at(run)
        if free_at is None or free_at > self.now or not self.lease_ends(run):
            return False
        return not self.frozen or self._declared_lost(run)

    def _declared_lost(self, run: Run) -> bool:
        """Whether an operator declared its worker lost, even if the name is that of another cluster by now."""
        worker = self.worker_of(run) or self.workers.get(run.cluster)
        return worker is not None and worker.state is State.LOST

    @cached_property
    def held(self) -> tuple[Run, ...]:
        """The runs besides the current one that may exist, and that the rule for lost workers does not let go."""
        to = self.assignment
        if to is not None and not to.held and len(self.runs) <= 1 and not self.mirrors.keys() - {self.runs_on}:
            return ()
        others = [
            Run(mirror.worker, mirror.epoch, self.workers[mirror.worker].identity)
            for mirror in self.mirrors.values()
            if mirror.worker != self.runs_on and mirror.facts.end is None and mirror.worker in self.workers
        ]
        named = to.held if to is not None else self._unknown_runs
        found = {run.key: run for run in (*others, *named, *self.runs)}
        if to is not None:
            found.pop(to.run.key, None)
        return tuple(run for run in found.values() if self.runs.may_exist(run) and not self.lets_go(run))

    @property
    def held_for(self) -> float | None:
        """The seconds until the rule for lost workers lets the next of `held` go; None if they all answer."""
        times = [free_at for run in self.held if (free_at := self.free_at(run)) is not None]
        return max(_LOOK_AGAIN, (min(times) - self.now).total_seconds()) if times else None

    @property
    def next_held(self) -> tuple[Run, ...]:
        """What the next assignment has to hold; nothing was ever created for one that `waiting` marks."""
        to = self.assignment
        if to is None or to.waiting or not self.runs.may_exist(to.run) or self.lets_go(to.run):
            return self.held
        return (*self.held, to.run)

    @property
    def _unknown_runs(self) -> tuple[Run, ...]:
        """Runs that may exist if its status shows a start although it has no assignment: somebody removed that while no
        relay looked on. A mirror that is seen was created when no other run was left."""
        if not self.inherited or self.workload.started is None or self.mirrors:
            return ()
        now, started = self.admission, format_time(self.workload.started)
        if isinstance(now, Admitted) and now.chosen in self.workers:
            return unknown_runs([self.workers[now.chosen]], started)
        here = [worker for worker in self.workers.values() if worker.serves(self.original.namespace)]
        return (*unknown_runs(here, started), unregistered_run(started))

    @cached_property
    def unseen(self) -> tuple[str, ...]:
        """Workers that may hold a mirror of this workload and have not been seen by this process.

        The assignment that this process found can be missing or outdated: somebody removed it, or the management
        cluster was restored from a backup.
        """
        if not self.inherited:
            return ()
        unseen = [worker for worker in self.workers.values() if not worker.seen or self.kind in worker.unread]
        return tuple(worker.name for worker in unseen if not self._given_up(worker))

    def _given_up(self, worker: WorkerFacts) -> bool:
        if self.frozen and worker.state is not State.LOST:
            return False
        grace = self.demand.grace if self.fenced else None
        free_at = lost_at(worker, worker.lost_since, self.settings, grace, self.led_since, worker.silent_since)
        return free_at is not None and free_at <= self.now

    # Placement

    def forbidden(self, worker: WorkerFacts) -> str:
        """Why the assignment to a worker is not followed, if nothing can have been started there; else empty.

        Anyone who may change the original can write an assignment, which gives no right to use a worker that is closed
        to new work or that the original's own annotations exclude.
        """
        to = self.assignment
        if to is None or worker.name in self.mirrors or self.runs.known(to.run).sent or not worker.connected:
            return ""
        request = read_request(self.original.metadata.annotations)
        if request.problem:
            return f"the workload's placement annotations are invalid: {request.problem}"
        if request.pinned and worker.name not in request.pinned:
            return f"the workload may run on {' or '.join(request.pinned)} only"
        if not request.selector.matches(worker.labels):
            return f"its labels do not match {request.selector}"
        return "it is cordoned" if worker.state is State.CORDONED else ""

    def refusal(self, worker: str) -> Refusal | None:
        """Why a worker does not take this workload at present."""
        found = self.refusals.get(worker)
        return found if found is not None and found.until > self.now else None

    @cached_property
    def refused(self) -> dict[str, Refusal]:
        """By worker: why it does not take this workload, or one of its shape, at present."""
        shape = self.demand.shape
        alike = {name: refusal for name, known in self.shapes.items() if (refusal := known.get(shape)) is not None}
        return {name: refusal for name, refusal in (alike | dict(self.refusals)).items() if refusal.until > self.now}

    def accepted(self, worker: str) -> bool:
        """Whether a worker has accepted a workload of this shape before."""
        known = self.shapes.get(worker, {})
        return self.demand.shape in known and known[self.demand.shape] is None

    # Dependencies

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """What the workload needs beside itself."""
        return references_of(self.adapter, self.original, self.definitions)

    @cached_property
    def dependencies(self) -> tuple[ObjectName, ...]:
        """The objects that workers are asked about: what it needs, and what it would use if that can be copied."""
        allow = self.settings.copies.allow
        return tuple(each.target for each in self.references if not each.optional or allow(each.target))[:MOST_ASKED]

    @cached_property
    def required(self) -> tuple[ObjectName, ...]:
        """Those of them without which it does not run."""
        optional = {each.target for each in self.references if each.optional}
        return tuple(each for each in self.dependencies if each not in optional)

    @cached_property
    def fixed(self) -> frozenset[ObjectName]:
        """Objects that cannot be replaced by copies: they are named by other objects, or are in another namespace.

        A copy of a service account has the same name.
        """
        home = ("", self.original.namespace)
        return frozenset(
            each.target
            for each in self.references
            if each.namespace not in home or not (each.paths or each.resource == SERVICEACCOUNTS)
        )

    @cached_property
    def group(self) -> str:
        """Equal for workloads that get the same answers from workers: of one shape, with the same dependencies."""
        if not self.references:
            return self.demand.shape
        names = "\n".join(sorted(str(each.target) for each in self.references))
        return f"{self.demand.shape} {sha256(names.encode()).hexdigest()[:32]}"

    # Line

    @cached_property
    def priority(self) -> int:
        return self.priority_of(priority_class(self.adapter, self.original))

    @property
    def rank(self) -> LineRank:
        return LineRank(-self.priority, self.original.metadata.creation_timestamp or "")

    @cached_property
    def line_group(self) -> str:
        """Equal for workloads that find the same workers: one that moves, or that was refused, is on its own."""
        own = self.assignment is not None or bool(self.refusals)
        return f"{self.group} {self.original.uid}" if own else self.group

    @cached_property
    def turn(self) -> Turn:
        """Whether it may be placed now, and who is before it in line."""
        return self.find_turn(WorkloadRef(self.kind, self.original.key), self.line_group, self.rank)

    def unanswered(self, worker: str) -> list[ObjectName]:
        """The dependencies about which a worker has to be asked, for the first time or again."""
        return unanswered(self.dependencies, self.answers.get(worker, NO_ANSWERS), self.now)

    @cached_property
    def lacking(self) -> dict[str, str]:
        """By worker: the dependencies that it lacks, in words."""
        if not self.required:
            return {}
        found = {name: missing(self.required, answers, self.fixed) for name, answers in self.answers.items()}
        return {name: lacks(objects) for name, objects in found.items() if objects}

    def asks_again(self, worker: str) -> datetime | None:
        """When a worker that lacks something is asked about that again."""
        found = missing(self.required, self.answers.get(worker, NO_ANSWERS), self.fixed)
        return min((answer.until for answer in found.values()), default=None)

    # Choosing

    def place(self, avoid: Mapping[str, str] | None = None) -> Placement:
        """Place this workload; `avoid` names workers that are excluded, and why."""
        refused = {name: refusal.message for name, refusal in self.refused.items()}
        if isinstance(self.admission, Admitted):
            refused |= self.admission.not_allowed(self.workers)
        previous = self.assignment.cluster if self.assignment is not None else None
        request = read_request(
            self.original.metadata.annotations,
            previous,
            refused | dict(avoid or {}),
            seed=self.workload.uid,
            namespace=self.original.namespace,
            unfit={name: why for name in self.workers if (why := self.clock_problem(name))} if self.fenced else {},
            kind=self.kind,
            lacking=self.lacking,
            priority=self.priority,
        )
        return self.placer.place(self.demand, request, tuple(self.workers.values()), self.policy)
