"""Subresources that are actions: binding, eviction, logs, exec and attach, tokens."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from typing import Any, Final

from jobrelay.apimachinery.field import Path, aggregate, invalid
from jobrelay.apimachinery.times import TimeError, canonical_time, format_time, shifted
from jobrelay.cluster.apiserver import admission, body, errors, heavy, options, represent, storage
from jobrelay.cluster.apiserver.access import ISSUER, Access, attributes_of
from jobrelay.cluster.apiserver.admission import webhooks
from jobrelay.cluster.apiserver.admission.steps import ensure_namespace
from jobrelay.cluster.apiserver.body import ProposedObject
from jobrelay.cluster.apiserver.calls import at_once
from jobrelay.cluster.apiserver.connectoptions import connect_options
from jobrelay.cluster.apiserver.deletion import Deleter
from jobrelay.cluster.apiserver.handlers import ResourceHandlers, output_for
from jobrelay.cluster.apiserver.options import WriteOptions
from jobrelay.cluster.apiserver.ownership import record, track
from jobrelay.cluster.apiserver.request import ApiRequest, flag
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.streams import PodLogOptions
from jobrelay.cluster.apiserver.writes import WriteRequest, own_fields
from jobrelay.kinds.authentication import tokenrequests
from jobrelay.kinds.core.pod.binding import bind_pod, validate_binding
from jobrelay.kinds.core.pod.streams import (
    ContainerError,
    choose_container,
    validate_log_options,
)
from jobrelay.kinds.strategy import Obj

_BINDING: Final = ServedResource("", "v1", "bindings", "Binding", "binding", True, ())
_EVICTION: Final = ServedResource("policy", "v1", "evictions", "Eviction", "eviction", True, ())
_TOKEN: Final = ServedResource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest", "tokenrequest", True, ())
_UNSAFE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
_BUDGETS: Final = "poddisruptionbudgets.policy"
_WOULD_VIOLATE: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL_BUDGETS: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
_CREATED: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _pod(handlers: ResourceHandlers, request: ApiRequest, name: str) -> Obj:
    item = handlers.server.store.get("pods", request.info.namespace, name)
    if item is None:
        raise errors.not_found("", "pods", name)
    return represent.stored(item.raw)


async def _read(
    request: ApiRequest, served: ServedResource, given: WriteOptions, same: tuple[str, ...] = ()
) -> ProposedObject:
    return await heavy.read(len(request.body), lambda: body.read(request, served, given.field_validation, same=same))


def _created(request: ApiRequest) -> ApiResponse:
    return represent.finish(represent.encode(_CREATED), output_for(request), 201)


async def bind(handlers: ResourceHandlers, access: Access, request: ApiRequest, served: ServedResource) -> ApiResponse:
    """Assigns a pod to a node, once."""
    given = options.write_options(request, "CreateOptions")
    binding = (await _read(request, _BINDING, given)).obj
    name = request.info.name or binding["metadata"].get("name", "")
    if request.info.name and binding["metadata"].get("name") not in (request.info.name, None, ""):
        raise errors.bad_request("name in URL does not match name in Binding object")
    ensure_namespace(binding["metadata"], request.info.namespace)
    if admission.has_a_say(handlers.server, served, request.info.subresource, "CREATE"):  # else nobody sees them
        own_fields(WriteRequest(handlers.server, request, _BINDING, given, "binding"), None, ProposedObject(binding))
    binding = await handlers.admit(request, served, "CREATE", binding, name, dry_run=given.dry_run)
    if found := validate_binding(binding):
        raise errors.unknown(aggregate(found))
    pods = handlers.server.resources.get("", "v1", "pods")
    assert pods is not None
    pod = _pod(handlers, request, name)
    node = handlers.server.store.get("nodes", "", binding["target"]["name"])
    labels = represent.cached(node.raw)["metadata"].get("labels") if node is not None else None
    if refusal := bind_pod(pod, binding, now=format_time(handlers.server.now()), node_labels=labels):
        raise errors.conflict("", "pods/binding", name, refusal)
    if not given.dry_run:
        storage.put(handlers.server.store, "pods", request.info.namespace, name, pod)
    await handlers.server.store.settled()
    return _created(request)


async def evict(handlers: ResourceHandlers, access: Access, request: ApiRequest, served: ServedResource) -> ApiResponse:
    """Deletes a pod unless a disruption budget forbids it."""
    given = options.write_options(request, "CreateOptions")
    eviction = (await _read(request, _EVICTION, given, same=("policy/v1beta1",))).obj
    if eviction["metadata"].get("name") != request.info.name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    ensure_namespace(eviction["metadata"], request.info.namespace)
    eviction = await handlers.admit(request, served, "CREATE", eviction, request.info.name, dry_run=given.dry_run)
    asked = _eviction_options(eviction, dry_run=given.dry_run)
    pod = _pod(handlers, request, request.info.name)
    _take_from_budget(handlers, pod, dry_run=bool(asked["dryRun"]))
    deletion = options.checked_delete_options(asked)
    Deleter(handlers.server, request, served, deletion).check_preconditions(pod)
    if pod["spec"].get("nodeName") and not deletion.dry_run:
        _mark_disrupted(handlers, pod)
    deletion = dataclasses.replace(deletion, version=None)  # it was just changed
    deleter = Deleter(handlers.server, request, served, deletion, admits=False)
    at_once(deleter.delete(request.info.namespace, request.info.name))
    await handlers.server.store.settled()
    return _created(request)


def _eviction_options(eviction: Obj, *, dry_run: bool) -> Obj:
    """The options of an eviction's deletion, which is a dry run if the request or the options say so."""
    asked: Obj = eviction.get("deleteOptions") or {}
    if asked.get(_UNSAFE):
        why = "can not be set for pod eviction, try after removing the option"
        found = invalid(Path("deleteOptions").child(_UNSAFE), True, why)
        raise errors.invalid("policy", "Eviction", eviction["metadata"]["name"], [found])
    requested, inside = ["All"] if dry_run else [], asked.get("dryRun") or []
    if requested and inside and requested != inside:
        shown = f"[{' '.join(requested)}] and [{' '.join(inside)}]"
        raise errors.unknown(f"Non-matching dry-run options in request and content: {shown}")
    return {**asked, "dryRun": inside or requested}


def _mark_disrupted(handlers: ResourceHandlers, pod: Obj) -> None:
    """Sets the DisruptionTarget condition of a running pod."""
    store, metadata = handlers.server.store, pod["metadata"]
    conditions = [c for c in (pod.get("status") or {}).get("conditions") or [] if c["type"] != "DisruptionTarget"]
    reason = {
        "type": "DisruptionTarget", "status": "True", "lastProbeTime": None,
        "lastTransitionTime": format_time(handlers.server.now()), "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }  # fmt: skip
    pod["status"] = {**(pod.get("status") or {}), "conditions": [*conditions, reason]}
    storage.put(store, "pods", metadata["namespace"], metadata["name"], pod)


def _take_from_budget(handlers: ResourceHandlers, pod: Obj, *, dry_run: bool) -> None:
    """Takes an eviction from the disruption budget of a pod; raises what refuses it."""
    from jobrelay.kinds.policy import evictions

    if not evictions.needs_budget(pod):
        return
    server, namespace = handlers.server, pod["metadata"]["namespace"]
    items = server.store.snapshot(_BUDGETS).walk(namespace)
    found = evictions.budgets_of(pod, [represent.stored(item.raw) for item in items])
    if len(found) > 1:
        raise errors.unknown(_SEVERAL_BUDGETS)
    for budget in found:
        name, now = budget["metadata"]["name"], format_time(server.now())
        try:
            status = evictions.take(pod, budget, now)
        except evictions.EvictionRefused as refused:
            cause = {"reason": "DisruptionBudget", "message": refused.why}
            raise errors.too_many_requests(_WOULD_VIOLATE, refused.retry, [cause]) from None
        except evictions.BudgetUnusable as unusable:
            raise errors.forbidden("policy", "poddisruptionbudget", name, str(unusable)) from None
        if status is not None and not dry_run:
            served = server.resources.get("policy", "v1", "poddisruptionbudgets")
            assert served is not None
            old = {"kind": served.kind, "apiVersion": served.api_version, **budget}
            new = {**old, "metadata": dict(budget["metadata"]), "status": status}
            track(served, old, new, manager="kube-apiserver", now=now, subresource="status")
            storage.put(server.store, _BUDGETS, namespace, name, new)


_LOG_NUMBERS: Final = ("tailLines", "limitBytes", "sinceSeconds")


def _time(text: str) -> str:
    try:
        return canonical_time(text)
    except TimeError as error:
        raise errors.bad_request(str(error)) from None


async def log(handlers: ResourceHandlers, access: Access, request: ApiRequest, served: ServedResource) -> ApiResponse:
    """The log of a pod's container: nothing while the pod has no node."""
    asked: dict[str, Any] = {name: options.integer(request, name) for name in _LOG_NUMBERS if request.first(name)}
    if since := request.first("sinceTime"):
        asked["sinceTime"] = _time(since)
    if stream := request.first("stream"):
        asked["stream"] = stream
    if found := validate_log_options(asked):
        raise errors.invalid("", "PodLogOptions", request.info.name, found)
    pod = _pod(handlers, request, request.info.name)
    container = _container(pod, request)
    node = pod["spec"].get("nodeName", "")
    if not node:
        return ApiResponse(204, b"", "")
    if handlers.server.nodes is None:
        raise errors.not_found("", "pods", node)
    return handlers.server.nodes.logs(pod, container, _log_options(request, asked, handlers.server.now()))


def _container(pod: Obj, request: ApiRequest) -> str:
    try:
        return choose_container(pod, request.first("container"))
    except ContainerError as error:
        raise errors.bad_request(str(error)) from None


def _log_options(request: ApiRequest, asked: dict[str, Any], now: dt.datetime) -> PodLogOptions:
    since = dt.datetime.fromisoformat(asked["sinceTime"]) if "sinceTime" in asked else None
    if "sinceSeconds" in asked:
        since = shifted(now, -asked["sinceSeconds"])
    return PodLogOptions(
        follow=flag(request.query, "follow"), previous=flag(request.query, "previous"),
        timestamps=flag(request.query, "timestamps"), tail=asked.get("tailLines"), limit=asked.get("limitBytes"),
        since=since,
    )  # fmt: skip


async def connect(
    handlers: ResourceHandlers, access: Access, request: ApiRequest, served: ServedResource
) -> ApiResponse:
    """Connects to a container: exec, attach, port forwarding. By GET, as websockets do, that needs `create` too."""
    sent = connect_options(request, served.subresources[request.info.subresource].kind)
    await handlers.admit(request, served, "CONNECT", sent, request.info.name, dry_run=False)
    allowed, reason = access.authorizer.allowed(request.user, attributes_of(request.info, "create"))
    if not allowed:
        raise errors.forbidden("", "pods", request.info.name, reason)
    pod = _pod(handlers, request, request.info.name)
    node = pod["spec"].get("nodeName", "")
    if not node:
        raise errors.bad_request(f"pod {request.info.name} does not have a host assigned")
    if handlers.server.nodes is None:
        raise errors.not_found("", "pods", node)
    return handlers.server.nodes.connect(pod, _container(pod, request), request)


async def request_token(
    handlers: ResourceHandlers, access: Access, request: ApiRequest, served: ServedResource
) -> ApiResponse:
    """Issues a token for a service account."""
    out = output_for(request, tables=False)
    given = options.write_options(request, "CreateOptions")
    asked = (await _read(request, _TOKEN, given)).obj
    tokenrequests.default(asked)
    item = handlers.server.store.get("serviceaccounts", request.info.namespace, request.info.name)
    own_fields(WriteRequest(handlers.server, request, _TOKEN, given, "token"), None, ProposedObject(asked))
    admit = functools.partial(handlers.admit, request, served, "CREATE", name=request.info.name, dry_run=given.dry_run)
    asked = await admit(asked, ask=webhooks.mutate)
    if item is None:
        raise errors.not_found("", "serviceaccounts", request.info.name)
    account = represent.stored(item.raw)
    if found := tokenrequests.validate_metadata(asked, request.info.name, request.info.namespace):
        raise errors.invalid("authentication.k8s.io", "TokenRequest", request.info.name, found)
    if found := tokenrequests.validate(asked):
        raise errors.invalid("authentication.k8s.io", "TokenRequest", "", found)
    spec: dict[str, Any] = asked["spec"]
    spec["audiences"] = spec.get("audiences") or [ISSUER]
    managed = asked["metadata"].get("managedFields")
    asked["metadata"] = {key: account["metadata"][key] for key in ("name", "namespace", "uid")}
    asked["metadata"]["creationTimestamp"] = format_time(handlers.server.now())
    record(asked, managed)
    asked = await admit(asked, ask=admission.validate)
    bound = _bound_object(handlers, request, spec.get("boundObjectRef"))
    token, end = access.tokens.issue(account, spec["audiences"], spec["expirationSeconds"], bound)
    asked["status"] = {"token": token, "expirationTimestamp": format_time(end)}
    return represent.answer_unstored(_TOKEN, asked, out)


def _bound_object(handlers: ResourceHandlers, request: ApiRequest, reference: Obj | None) -> Obj | None:
    """The pod or secret that a token is bound to; it must exist, with the uid that was given."""
    if reference is None:
        return None
    version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
    plural = {"Pod": "pods", "Secret": "secrets"}.get(kind)
    if plural is None or version not in ("", "v1"):
        shown = version if "/" in version else f"/{version}"
        raise errors.bad_request(f"cannot bind token to object of type {shown}, Kind={kind}")
    name = reference.get("name", "")
    if not name:
        raise errors.bad_request("Name parameter required.")
    item = handlers.server.store.get(plural, request.info.namespace, name)
    if item is None:
        raise errors.not_found("", plural, name)
    uid = represent.stored(item.raw)["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. The object "
            "might have been deleted and then recreated"
        )
        raise errors.conflict("", reference["kind"], name, why)
    return {"kind": reference["kind"], "name": name, "uid": uid}
