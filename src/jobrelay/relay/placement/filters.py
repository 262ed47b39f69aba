"""The filters that apply under every policy."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from jobrelay.relay.model import State
from jobrelay.relay.names import CLUSTER_SELECTOR, CLUSTERS, NAMESPACES, STATE

from .amounts import floor_milli, format_amount
from .candidate import Candidate, Filter
from .plugins import Rejection

_MOST_UNANSWERED: Final = 128
"""A worker with this many unanswered requests gets no more: if it hangs, only these workloads are affected."""


def _explain_request(candidate: Candidate) -> Rejection:
    problem = candidate.request.problem
    return Rejection(f"the workload's placement annotations are invalid: {problem}", "a corrected annotation")


def _explain_pinned(candidate: Candidate) -> Rejection:
    workers = " or ".join(candidate.request.pinned)
    return Rejection(f"the workload may run on {workers} only", f"naming it in annotation {CLUSTERS}")


def _explain_selector(candidate: Candidate) -> Rejection:
    return Rejection(
        f"its labels do not match {candidate.request.selector}",
        f"other labels on the worker, or another annotation {CLUSTER_SELECTOR}",
    )


def _explain_namespace(candidate: Candidate) -> Rejection:
    served = candidate.worker.namespaces
    noun = "namespace" if len(served) == 1 else "namespaces"
    return Rejection(f"it serves only {noun} {', '.join(served)}", f"its annotation {NAMESPACES} naming this one")


def _is_unavailable(candidate: Candidate) -> bool:
    worker = candidate.worker
    closed = worker.state is not State.OPEN or not worker.connected
    return closed or worker.unanswered > 0 or worker.stale > 0 or worker.backlog >= _MOST_UNANSWERED


def _explain_unavailable(candidate: Candidate) -> Rejection:
    worker = candidate.worker
    if worker.state is not State.OPEN:
        state = "declared lost" if worker.state is State.LOST else str(worker.state)
        return Rejection(f"it is {state}", f"annotation {STATE} without {worker.state}")
    if not worker.connected:
        since = worker.lost_since
        silent = f"it has not answered since {since:%Y-%m-%dT%H:%M:%SZ}" if since else "it does not answer"
        return Rejection(silent + (f": {worker.reason}" if worker.reason else ""), "it answers again")
    if worker.unanswered:
        return Rejection(f"it has not answered for {worker.unanswered:.0f} s", "it answers again")
    if not worker.stale:
        return Rejection(f"it has not answered {worker.backlog} earlier requests yet", "it answers them")
    what = "a mirror of a workload that moved away has" if worker.stale == 1 else "mirrors that moved away have"
    return Rejection(f"{what} to be stopped there first ({worker.stale} left)", "they are stopped")


def _is_kept(candidate: Candidate) -> bool:
    claimant = candidate.worker.kept_for
    if claimant is None:
        return False
    return claimant.uid != candidate.request.seed and claimant.priority >= candidate.request.priority


def _explain_kept(candidate: Candidate) -> Rejection:
    claimant = candidate.worker.kept_for
    name = claimant.name if claimant is not None else "another workload"
    return Rejection(f"it is kept free for {name}, which has waited long", f"the start of {name}, or a higher priority")


def _explain_kind(candidate: Candidate) -> Rejection:
    kind = candidate.request.kind
    return Rejection(candidate.worker.unfit[kind], f"{kind} being served there, and the right to use them")


def _explain_excluded(candidate: Candidate) -> Rejection:
    cause = candidate.request.excluded[candidate.worker.name]
    return Rejection(f"it is excluded for this workload: {cause}", "it accepts the workload when it is asked again")


def _explain_unfit(candidate: Candidate) -> Rejection:
    why = candidate.request.unfit[candidate.worker.name]
    return Rejection(f"it cannot fence the workload: {why}", "a steady clock there, whose time its answers tell")


def _explain_lacking(candidate: Candidate) -> Rejection:
    return Rejection(
        candidate.request.lacking[candidate.worker.name], "these objects on it, or a relay that copies them"
    )


def _never_fits(candidate: Candidate) -> bool:
    """Whether no pod could ever run there."""
    fit = candidate.fit
    return fit is not None and not fit.empty and fit.pods > 0


def _explain_labels(candidate: Candidate) -> Rejection:
    wants = []
    for pods in candidate.requirements.pod_sets:
        wants += [f"{key}={value}" for key, value in pods.selector]
        if (pods.affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution"):
            wants.append("node affinity")
    nodes = candidate.worker.capacity.nodes
    taints = sorted({str(taint.get("key", "")) for node in nodes for taint in node.taints})
    asked = f"; they want {', '.join(dict.fromkeys(wants))}" if wants else ""
    found = f"; nodes have taints {', '.join(taints)}" if taints else ""
    return Rejection(
        f"0/{len(nodes)} nodes take the pods{asked}{found}", "a node with fitting labels and tolerated taints"
    )


def _explain_size(candidate: Candidate) -> Rejection:
    nodes = candidate.worker.capacity.nodes
    short = []
    for pods in candidate.requirements.pod_sets:
        for name, amount in pods.requests:
            most = max((floor_milli(node.allocatable.get(name, Fraction(0))) for node in nodes), default=0)
            if most < amount:
                has = format_amount(name, most)
                short.append(f"a pod needs {format_amount(name, amount)}, its largest node has {has}")
    why = "; ".join(dict.fromkeys(short)) or "no single node has all that a pod needs"
    return Rejection(f"0/{len(nodes)} nodes are large enough: {why}", "a larger node")


DEPENDENCIES_FILTER: Final = Filter(
    lambda candidate: candidate.worker.name in candidate.request.lacking,
    _explain_lacking,
    lambda request: bool(request.lacking),
)
FILTERS: Final = (
    Filter(lambda candidate: True, _explain_request, lambda request: bool(request.problem)),
    Filter(
        lambda candidate: candidate.worker.name not in candidate.request.pinned,
        _explain_pinned,
        lambda request: bool(request.pinned),
    ),
    Filter(
        lambda candidate: not candidate.request.selector.matches(candidate.worker.labels),
        _explain_selector,
        lambda request: not request.selector.empty,
    ),
    Filter(
        lambda candidate: not candidate.worker.serves(candidate.request.namespace),
        _explain_namespace,
        lambda request: bool(request.namespace),
    ),
    Filter(_is_unavailable, _explain_unavailable),
    Filter(_is_kept, _explain_kept),
    Filter(
        lambda candidate: candidate.request.kind in candidate.worker.unfit,
        _explain_kind,
        lambda request: bool(request.kind),
    ),
    Filter(
        lambda candidate: candidate.worker.name in candidate.request.excluded,
        _explain_excluded,
        lambda request: bool(request.excluded),
    ),
    Filter(
        lambda candidate: candidate.worker.name in candidate.request.unfit,
        _explain_unfit,
        lambda request: bool(request.unfit),
    ),
    DEPENDENCIES_FILTER,
)
"""In the order in which they are evaluated; the first that rejects gives the reason."""
NODE_FILTER: Final = Filter(
    _never_fits,
    lambda candidate: (_explain_size if candidate.fit and candidate.fit.eligible else _explain_labels)(candidate),
)
"""The last one, which needs the candidate's fit."""
