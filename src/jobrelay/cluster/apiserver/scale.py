"""The scale subresource: an autoscaling/v1 Scale that is read from and written into the object behind it.

A write makes the object's Scale, changes that as it would any object (patches and field management included), and puts
the replicas, and who owns them, back into the object, which then goes through its own update.
"""

from __future__ import annotations

import copy
from typing import Final

import msgspec

from jobrelay.apimachinery import field
from jobrelay.apimachinery.apply import to_parent, to_scale
from jobrelay.cluster.apiserver import body, conversions, errors, options, ownership, represent
from jobrelay.cluster.apiserver.admission.steps import check_name, ensure_namespace
from jobrelay.cluster.apiserver.body import ProposedObject
from jobrelay.cluster.apiserver.calls import Steps
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.handlers import ResourceHandlers, output_for
from jobrelay.cluster.apiserver.negotiate import Output
from jobrelay.cluster.apiserver.options import APPLY
from jobrelay.cluster.apiserver.patching import PatchRequest, patch_type
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.storage import stored_json
from jobrelay.cluster.apiserver.writes import WriteRequest, own_fields, update
from jobrelay.kinds.apiextensions import paths
from jobrelay.kinds.apiextensions.paths import ObjectPathError
from jobrelay.kinds.apiextensions.scale import ScaleError, crd_apply_scale, crd_scale_of, scale_view
from jobrelay.kinds.apiextensions.strategy import CustomKind
from jobrelay.kinds.apps.scale import apply_scale, scale_of, validate_scale
from jobrelay.kinds.strategy import Obj

_SCALE: Final = ServedResource(
    group="autoscaling", version="v1", plural="scales", kind="Scale", singular="scale", namespaced=True, verbs=()
)
_NO_REPLICAS: Final = -(2**31)  # stands for a count that a custom resource does not have
_REPLICAS: Final = ("spec", "replicas")
_UNCONVERTIBLE: Final = (
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to "
    "proper version: request to convert CR to an invalid group/version: autoscaling/v1"
)  # a custom resource whose replicas nobody owns cannot be scaled by an apply on a real server either


class ScaleHandler:
    def __init__(self, handlers: ResourceHandlers) -> None:
        self._server, self._handlers = handlers.server, handlers

    async def answer(self, request: ApiRequest, served: ServedResource) -> ApiResponse:
        out = output_for(request)
        if request.info.verb == "get":
            return self._answer(request, await self._get(request, served), out)
        media = patch_type(request, served) if request.info.verb == "patch" else ""
        kind = "PatchOptions" if media else "UpdateOptions"
        given = options.write_options(request, kind, patch_type=media)

        def compute(server: ServerContext) -> Steps[tuple[bytes, bool]]:
            write = WriteRequest(server, request, served, given, "scale", _ScaleView(served.custom))
            sent = None if media else _read(request, served, given.field_validation)
            uid = sent.obj["metadata"].get("uid", "") if sent is not None else ""
            return (yield from update(write, request.info.name, _ScaleWrite(write, media, sent).propose, uid=uid))

        raw, _ = await self._handlers.perform(request, served, compute)
        served, raw = await conversions.shown_raw(served, raw)
        return self._answer(request, _written(served, represent.stored(represent.outgoing(served, raw))), out)

    def _answer(self, request: ApiRequest, scale: Obj, out: Output) -> ApiResponse:
        return represent.answer_object(
            _SCALE, stored_json(scale), out, self._server.now(), request.first("includeObject")
        )

    async def _get(self, request: ApiRequest, served: ServedResource) -> Obj:
        namespace = request.info.namespace if served.namespaced else ""
        item = self._server.store.read(served.key, namespace, request.info.name)
        if item is None:
            raise errors.not_found(served.group, served.plural, request.info.name)
        served, raw = await conversions.shown_raw(served, item.raw)
        obj = represent.stored(represent.outgoing(served, raw))
        if served.custom is None:
            return scale_of(obj)
        try:
            return crd_scale_of(obj, served.custom.scale)
        except ScaleError as error:
            raise errors.internal(str(error)) from None
        except ObjectPathError as error:
            raise errors.unknown(str(error)) from None


class _ScaleView(msgspec.Struct, frozen=True):
    """The Scale that stands for an object where webhooks are asked."""

    custom: CustomKind | None

    def show(self, obj: Obj) -> Obj:
        if self.custom is None:
            return scale_of(obj)
        shown = scale_view(obj, self.custom.scale)
        path = tuple(paths.split(self.custom.scale["specReplicasPath"]))
        ownership.record(shown, to_scale(obj["metadata"].get("managedFields"), path, self.custom.versions))
        return shown

    def put_back(self, shown: Obj, obj: Obj) -> None:
        if self.custom is None:
            apply_scale(obj, shown)
        else:
            crd_apply_scale(obj, shown, self.custom.scale)


class _ScaleWrite(msgspec.Struct, frozen=True, eq=False):
    """One update (`sent` is its Scale) or patch of an object's Scale."""

    write: WriteRequest
    media: str
    sent: ProposedObject | None

    @property
    def custom(self) -> CustomKind | None:
        return self.write.served.custom

    def propose(self, old: Obj | None) -> ProposedObject:
        """The object with the replicas of its changed Scale, and with the managers that own them now."""
        assert old is not None
        served, custom, parent = self.write.served, self.custom, old["metadata"].get("managedFields")
        path = tuple(paths.split(custom.scale["specReplicasPath"])) if custom is not None else _REPLICAS
        versions = custom.versions if custom is not None else frozenset({served.api_version})
        view = self._view(old)
        ownership.record(view, to_scale(parent, path, versions))
        scale = self._changed(view)
        self._check(scale, old)
        new = copy.deepcopy(old)
        if custom is None:
            apply_scale(new, scale)
        else:
            crd_apply_scale(new, scale, custom.scale)
        managed = scale["metadata"].get("managedFields")
        ownership.record(new, to_parent(parent, managed, path, versions, served.api_version))
        return ProposedObject(new, tracked=True)

    def _view(self, obj: Obj) -> Obj:
        if self.custom is None:
            return scale_of(obj)
        config = self.custom.scale
        try:
            view = scale_view(obj, config)
            if paths.nested_int(obj, config["specReplicasPath"]) is None:
                view["spec"]["replicas"] = _NO_REPLICAS
        except ObjectPathError as error:
            raise errors.unknown(str(error)) from None
        return view

    def _changed(self, view: Obj) -> Obj:
        if self.media == APPLY and self.custom is not None and not view["metadata"].get("managedFields"):
            raise errors.unknown(_UNCONVERTIBLE)
        write = self.write
        patch = PatchRequest(write.server, write.request, _SCALE, write.options, write.subresource, media=self.media)
        return own_fields(patch, view, self.sent or patch.propose(view))

    def _check(self, scale: Obj, old: Obj) -> None:
        served, name, metadata = self.write.served, self.write.request.info.name, scale["metadata"]
        _match(self.write.request, scale)
        if self.custom is not None:
            if scale["spec"].get("replicas", 0) == _NO_REPLICAS:
                path = field.go_quote(self.custom.scale["specReplicasPath"])
                raise errors.bad_request(f"the spec replicas field {path} cannot be empty")
            return
        if found := validate_scale(scale):
            raise errors.invalid("autoscaling", "Scale", name, found)
        uid = metadata.get("uid", "")
        if uid and uid != old["metadata"]["uid"]:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
            raise errors.conflict(served.group, f"{served.plural}/scale", name, why)


def _read(request: ApiRequest, served: ServedResource, directive: str) -> ProposedObject:
    try:
        proposed = body.read(request, _SCALE, directive)
    except errors.ApiError:
        if served.custom is None:
            raise
        raise errors.bad_request(f'no kind is registered for the type v1.Scale in scheme "{body.SCHEME}"') from None
    _match(request, proposed.obj)
    return proposed


def _match(request: ApiRequest, scale: Obj) -> None:
    ensure_namespace(scale["metadata"], request.info.namespace)
    check_name(scale, request.info.name)


def _written(served: ServedResource, obj: Obj) -> Obj:
    if served.custom is None:
        return scale_of(obj)
    try:
        return scale_view(obj, served.custom.scale)
    except ObjectPathError as error:
        raise errors.bad_request(str(error)) from None
