"""Checks which kinds a worker can run, and what the relay may copy there. What is missing concerns nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobrelay.kube import Resource, serves
from jobrelay.operate.findings import LIMITED, MISSING, CheckedWorker, Finding, each_verb
from jobrelay.relay.copy_rules import CopyRules
from jobrelay.relay.dependencies.copies import RESOURCES
from jobrelay.relay.workload_kind import is_built_in

__all__ = ["check_copying", "check_kind", "copied_kinds"]

_MIRRORS = "create get list watch patch delete"
_COPIES = "create get list delete"


async def check_kind(worker: CheckedWorker, resource: Resource, namespaces: tuple[str, ...], where: str) -> Finding:
    """Whether the worker can run a kind that the management cluster serves; without Jobs it is of no use."""
    otherwise = MISSING if is_built_in(resource) else LIMITED
    if not await serves(worker.client, resource):
        detail = f"it does not serve {resource}/{resource.version}, and gets no {resource.kind}s"
        mend = f"install the CustomResourceDefinition of {resource.kind}s and their controller there to run them"
        return worker.found(str(resource), otherwise, f"{detail}; {mend}")
    wanted = each_verb(resource, _MIRRORS, namespaces)
    mend = f"it gets no {resource.kind}s until its role has that; `jobrelay worker join {worker.name}` writes the role"
    return await worker.permitted(str(resource), wanted, where, otherwise=otherwise, mend=mend)


def copied_kinds(worker: CheckedWorker, rules: CopyRules) -> Iterator[tuple[Resource, tuple[str, ...]]]:
    """The kinds of which the relay makes copies there, with the namespaces; without any, in all or in none."""
    for kind, allowed in rules.namespaces.items():
        resource = RESOURCES[kind]
        if not resource.namespaced or (allowed is None and not worker.namespaces):
            yield resource, ()
            continue
        served = worker.namespaces or tuple(sorted(allowed or ()))
        chosen = tuple(name for name in served if allowed is None or name in allowed)
        if chosen:
            yield resource, chosen


async def check_copying(worker: CheckedWorker, resource: Resource, namespaces: Sequence[str]) -> Finding:
    """Whether the relay may make and remove copies of a kind."""
    where = f"in namespaces {', '.join(namespaces)}" if namespaces else "wherever they are needed"
    suffix = f":{','.join(namespaces)}" if namespaces and resource.kind == "Secret" else ""
    mend = f"`jobrelay worker join {worker.name} --copy {resource.kind}{suffix}` grants it"
    check = f"copies of {resource}"
    if resource.group and not await serves(worker.client, resource):
        return worker.found(check, LIMITED, f"it does not serve {resource}/{resource.version}")
    wanted = each_verb(resource, _COPIES, namespaces)
    return await worker.permitted(check, wanted, where, otherwise=LIMITED, mend=mend)
