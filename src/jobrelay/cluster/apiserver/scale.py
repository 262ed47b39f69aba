"""The scale subresource: an autoscaling/v1 Scale that is read from and written into the object behind it."""

from __future__ import annotations

import copy
from typing import Any

from jobrelay.cluster.apiserver import body, errors, negotiate, options, patching, represent
from jobrelay.cluster.apiserver.handlers import Handlers, output_for
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import Served
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.writer import Writer
from jobrelay.kinds import apps
from jobrelay.kinds.crd.paths import PathError
from jobrelay.kinds.crd.scale import ScaleError, crd_apply_scale, crd_scale_of, scale_view
from jobrelay.kinds.decode import decode
from jobrelay.kinds.strategy import Obj
from jobrelay.kinds.types import Type, type_for_kind


def _scale_type() -> Type:
    found = type_for_kind("autoscaling/v1", "Scale")
    assert found is not None
    return found


class Scales:
    def __init__(self, handlers: Handlers) -> None:
        self._handlers, self._services = handlers, handlers.services

    async def answer(self, request: ApiRequest, served: Served) -> ApiResponse:
        out = output_for(request)
        if request.info.verb == "get":
            await self._services.store.settled()
            item = self._services.store.get(served.key, request.info.namespace if served.namespaced else "", request.info.name)
            if item is None:
                raise errors.not_found(served.group, served.plural, request.info.name)
            return represent.finish(represent.encode(self._view(served, represent.stored(item.raw))), out)
        kind = "UpdateOptions" if request.info.verb == "update" else "PatchOptions"
        media = patching.patch_type(request, served) if request.info.verb == "patch" else ""
        given = options.write_options(request, kind, patch_type=media)
        writer = Writer(self._services, request, served, given, "scale")
        change = self._updated if request.info.verb == "update" else self._patched

        def make(old: Obj | None) -> Obj:
            assert old is not None
            scale = change(request, served, old, media)
            if found := apps.validate_scale(scale):
                raise errors.invalid("autoscaling", "Scale", request.info.name, found)
            new = copy.deepcopy(old)
            self._write(served, new, scale)
            writer.track(old, new)
            return new

        raw, _ = writer.update(request.info.name, make)
        await self._services.store.settled()
        return represent.finish(represent.encode(self._written(served, represent.stored(raw))), out)

    def _view(self, served: Served, obj: Obj) -> Obj:
        if served.custom is None:
            return apps.scale_of(obj)
        try:
            return crd_scale_of(obj, served.custom.scale)
        except (ScaleError, PathError) as error:
            raise errors.internal(str(error)) from None

    def _written(self, served: Served, obj: Obj) -> Obj:
        return apps.scale_of(obj) if served.custom is None else scale_view(obj, served.custom.scale)

    def _write(self, served: Served, obj: Obj, scale: Obj) -> None:
        if served.custom is None:
            apps.apply_scale(obj, scale)
        else:
            crd_apply_scale(obj, scale, served.custom.scale)

    def _updated(self, request: ApiRequest, served: Served, old: Obj, media: str) -> Obj:
        content = negotiate.input_media(request.header("content-type"), served.media)
        wanted = ("autoscaling/v1", "Scale", _scale_type())
        scale = body.read(request, wanted, directive="Warn", media=content)
        name = scale["metadata"].get("name", "")
        if name and name != request.info.name:
            text = f"the name of the object ({name}) does not match the name on the URL ({request.info.name})"
            raise errors.bad_request(text)
        scale["metadata"].setdefault("name", request.info.name)
        scale["metadata"].setdefault("namespace", request.info.namespace)
        return scale

    def _patched(self, request: ApiRequest, served: Served, old: Obj, media: str) -> Obj:
        view = self._view(served, old)
        patched = patching.plain_patch(request, view, media, _scale_type())
        made: dict[str, Any] = decode(patched, _scale_type())
        if media != options.APPLY and '"resourceVersion"' not in request.body.decode("utf-8", "replace"):
            made["metadata"].pop("resourceVersion", None)
        return made
