"""The scale subresource: an autoscaling/v1 Scale that is read from and written into the object behind it.

A write makes the object's Scale, changes that as it would any object (patches and field management included), and puts the
replicas, and who owns them, back into the object, which then goes through its own update.
"""

from __future__ import annotations

import copy
from typing import Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.apply import to_parent, to_scale
from jobrelay.cluster.apiserver import body, errors, negotiate, options, ownership, patching, represent
from jobrelay.cluster.apiserver.handlers import Handlers, output_for
from jobrelay.cluster.apiserver.negotiate import Output
from jobrelay.cluster.apiserver.options import APPLY, WriteOptions
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import Served
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.apiserver.writer import Writer, stored_json
from jobrelay.kinds import apps
from jobrelay.kinds.apiextensions import paths
from jobrelay.kinds.apiextensions.paths import PathError
from jobrelay.kinds.apiextensions.scale import ScaleError, crd_apply_scale, crd_scale_of, scale_view
from jobrelay.kinds.strategy import Obj

_SCALE: Final = Served(
    group="autoscaling", version="v1", plural="scales", kind="Scale", singular="scale", namespaced=True, verbs=()
)
_NO_REPLICAS: Final = -(2**31)  # stands for a count that a custom resource does not have
_REPLICAS: Final = ("spec", "replicas")
_UNCONVERTIBLE: Final = (
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper "
    "version: request to convert CR to an invalid group/version: autoscaling/v1"
)  # a custom resource whose replicas nobody owns cannot be scaled by an apply on a real server either


class Scales:
    def __init__(self, handlers: Handlers) -> None:
        self._services = handlers.services

    async def answer(self, request: ApiRequest, served: Served) -> ApiResponse:
        out = output_for(request)
        if request.info.verb == "get":
            return self._answer(request, self._get(request, served), out)
        media = patching.patch_type(request, served) if request.info.verb == "patch" else ""
        kind = "PatchOptions" if media else "UpdateOptions"
        given = options.write_options(request, kind, patch_type=media)
        write = _Write(self._services, request, served, given, media)
        raw, _ = write.writer.update(request.info.name, write.make, uid=write.uid)
        await self._services.store.settled()
        return self._answer(request, _written(served, represent.stored(represent.outgoing(served, raw))), out)

    def _answer(self, request: ApiRequest, scale: Obj, out: Output) -> ApiResponse:
        return represent.answer_object(
            _SCALE, stored_json(scale), out, self._services.now(), request.first("includeObject")
        )

    def _get(self, request: ApiRequest, served: Served) -> Obj:
        namespace = request.info.namespace if served.namespaced else ""
        item = self._services.store.read(served.key, namespace, request.info.name)
        if item is None:
            raise errors.not_found(served.group, served.plural, request.info.name)
        obj = represent.stored(represent.outgoing(served, item.raw))
        if served.custom is None:
            return apps.scale_of(obj)
        try:
            return crd_scale_of(obj, served.custom.scale)
        except ScaleError as error:
            raise errors.internal(str(error)) from None
        except PathError as error:
            raise errors.unknown(str(error)) from None


class _Write:
    """One update or patch of a Scale."""

    def __init__(
        self, services: Services, request: ApiRequest, served: Served, given: WriteOptions, media: str
    ) -> None:
        self.writer = Writer(services, request, served, given, "scale")
        self._scale = Writer(services, request, _SCALE, given, "scale")
        self._request, self._served, self._media = request, served, media
        custom = served.custom
        self._path = tuple(paths.split(custom.scale["specReplicasPath"])) if custom is not None else _REPLICAS
        self._versions = custom.versions if custom is not None else frozenset({served.api_version})
        self._sent: Obj | None = None if media else self._read(given.field_validation)
        self.uid = self._sent["metadata"].get("uid", "") if self._sent is not None else ""

    def _read(self, directive: str) -> Obj:
        media = negotiate.input_media(self._request.header("content-type"), self._served.media)
        wanted = (_SCALE.api_version, _SCALE.kind, _SCALE.type)
        try:
            scale = body.read(self._request, wanted, directive=directive, media=media)
        except errors.ApiError:
            if self._served.custom is None:
                raise
            raise errors.bad_request(f'no kind is registered for the type v1.Scale in scheme "{body.SCHEME}"') from None
        self._scale.match_namespace(scale["metadata"])
        self._scale.check_name(scale, self._request.info.name)
        return scale

    def make(self, old: Obj | None) -> Obj:
        assert old is not None
        parent = old["metadata"].get("managedFields")
        view = self._view(old)
        ownership.record(view, to_scale(parent, self._path, self._versions))
        scale = self._changed(view)
        self._check(scale, old)
        new = copy.deepcopy(old)
        if self._served.custom is None:
            apps.apply_scale(new, scale)
        else:
            crd_apply_scale(new, scale, self._served.custom.scale)
        managed = scale["metadata"].get("managedFields")
        ownership.record(new, to_parent(parent, managed, self._path, self._versions, self._served.api_version))
        return new

    def _view(self, obj: Obj) -> Obj:
        if self._served.custom is None:
            return apps.scale_of(obj)
        config = self._served.custom.scale
        try:
            view = scale_view(obj, config)
            if paths.nested_int(obj, config["specReplicasPath"]) is None:
                view["spec"]["replicas"] = _NO_REPLICAS
        except PathError as error:
            raise errors.unknown(str(error)) from None
        return view

    def _changed(self, view: Obj) -> Obj:
        if self._media == APPLY and self._served.custom is not None and not view["metadata"].get("managedFields"):
            raise errors.unknown(_UNCONVERTIBLE)
        if self._sent is None:
            return patching.Patch(self._scale, self._media).make(view)
        scale = copy.deepcopy(self._sent)
        self._scale.track(view, scale, self._request.sent_managed)
        return scale

    def _check(self, scale: Obj, old: Obj) -> None:
        metadata, name = scale["metadata"], self._request.info.name
        self._scale.match_namespace(metadata)
        self._scale.check_name(scale, name)
        if self._served.custom is not None:
            self._check_custom(scale)
            return
        if found := apps.validate_scale(scale):
            raise errors.invalid("autoscaling", "Scale", name, found)
        uid = metadata.get("uid", "")
        if uid and uid != old["metadata"]["uid"]:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
            raise errors.conflict(self._served.group, f"{self._served.plural}/scale", name, why)

    def _check_custom(self, scale: Obj) -> None:
        assert self._served.custom is not None
        if scale["spec"].get("replicas", 0) == _NO_REPLICAS:
            path = field.go_quote(self._served.custom.scale["specReplicasPath"])
            raise errors.bad_request(f"the spec replicas field {path} cannot be empty")


def _written(served: Served, obj: Obj) -> Obj:
    if served.custom is None:
        return apps.scale_of(obj)
    try:
        return scale_view(obj, served.custom.scale)
    except PathError as error:
        raise errors.bad_request(str(error)) from None
