"""Custom resources as the server serves them: bodies, routes, and the resources that a CRD adds.

Objects are stored in the storage version of the time of their write (`VersionForm`). A definition with one version that
was never changed shows them as they are stored; any other one reads them by its schemas, since older objects may not
fit those, and converts them, by itself or by a webhook.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from jobrelay.apimachinery import gojson, yaml
from jobrelay.apimachinery.decode import DecodeError, Notes
from jobrelay.cluster.apiserver import body, errors, negotiate
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.conversions import ConversionWebhook, WebhookForm, need
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ServedResource, Subresource
from jobrelay.kinds.apiextensions import objects
from jobrelay.kinds.apiextensions.conversion import marked, unmarked
from jobrelay.kinds.apiextensions.strategy import CustomKind
from jobrelay.kinds.apiextensions.versions import VersionForm, renamed
from jobrelay.kinds.strategy import Obj

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def read(request: ApiRequest, served: ServedResource, directive: str) -> Obj:
    """The custom resource in a request's body."""
    media = negotiate.input_media(request.header("content-type"))
    if media == negotiate.PROTOBUF:
        raise errors.unsupported_media_type((negotiate.JSON, negotiate.YAML))
    notes = Notes() if directive != "Ignore" else None
    value = _parse(request, served.kind, media, notes)
    if problem := objects.type_problem(value, request.body):
        raise errors.bad_request(objects.unrecognized(served.kind, problem, request.body))

    def refuse(why: str) -> errors.ApiError:
        return body.unhandled(str(value.get("apiVersion", "")), value["kind"], served.kind, why)

    try:
        obj = served.decode(value, notes)
    except DecodeError as error:
        raise refuse(str(error)) from None
    body.report(request, notes, directive, refuse)
    if problem := objects.version_problem(obj, served.api_version):
        raise errors.bad_request(problem)
    return obj


def _parse(request: ApiRequest, kind: str, media: str, notes: Notes | None) -> Any:
    try:
        if media == negotiate.YAML:
            duplicates: list[str] = []
            value = yaml.load(request.body, duplicates)
        else:
            value = gojson.loads_keeping_repeats(request.body)
            duplicates = [f'duplicate field "{path}"' for path in gojson.repeated(value)]
            value = gojson.loads(request.body) if duplicates else value
    except (gojson.JsonError, yaml.YamlError) as error:
        why = str(error) if media == negotiate.YAML else f"couldn't get version/kind; json parse error: {error}"
        raise errors.bad_request(objects.unrecognized(kind, why, request.body)) from None
    if media == negotiate.YAML and duplicates:
        duplicates = [body.repeated_keys(duplicates)]
    if notes is not None:
        for text in duplicates:
            notes.add(text)
    return value


def check_route(request: ApiRequest, served: ServedResource) -> None:
    """Refuses what a custom resource does not serve; warns of deprecated versions."""
    info = request.info
    assert served.custom is not None
    if served.namespaced != bool(info.namespace) and not (served.namespaced and info.verb in ("list", "watch")):
        raise errors.page_not_found()
    if served.custom.deprecation:
        request.warn(served.custom.deprecation)
    if info.subresource and info.subresource not in served.subresources:
        raise errors.not_found(served.group, served.plural, info.name)
    verbs = served.subresources[info.subresource].verbs if info.subresource else served.verbs
    if info.verb not in verbs:
        raise errors.method_not_supported(served.group, served.plural, info.verb)


def served_versions(crd: Obj, webhook: ConversionWebhook | None = None) -> list[ServedResource]:
    """The resources that a CRD adds; `webhook` converts between its versions."""
    spec, names = crd["spec"], crd["spec"]["names"]
    storage = next((v["name"] for v in spec["versions"] if v.get("storage")), "")
    made = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        custom = CustomKind(crd, version["name"])
        served = ServedResource(
            spec["group"], version["name"], names["plural"], names["kind"],
            names.get("singular", names["kind"].lower()), spec["scope"] == "Namespaced", VERBS,
            tuple(names.get("shortNames") or ()), tuple(names.get("categories") or ()),
            _subresources(spec["group"], version, names["kind"]), list_kind=names.get("listKind", ""),
            custom=custom, storage_version=storage,
        )  # fmt: skip
        _set_conversions(served, crd, custom, webhook)
        made.append(served)
    return made


def conversion_webhook(server: ServerContext, spec: Obj) -> ConversionWebhook | None:
    """What converts between the versions of a CRD, if a webhook does."""
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != "Webhook" or len(spec["versions"]) == 1:
        return None
    return ConversionWebhook(server.outbound, server.uid, conversion["webhook"])


def _set_conversions(served: ServedResource, crd: Obj, kind: CustomKind, webhook: ConversionWebhook | None) -> None:
    """Conversions to and from stored objects, where they are not stored as they are shown."""
    several = len(crd["spec"]["versions"]) > 1
    served.in_version = renamed
    if not several and crd["metadata"].get("generation", 1) == 1:
        return
    stored = (crd.get("status") or {}).get("storedVersions") or [served.storage_version]
    form = VersionForm(kind, kind.in_version(served.storage_version), stored[0])
    if webhook is not None:
        served.webhook = WebhookForm(webhook, form)
        form = form.with_conversion(need)
        served.in_version = need
    served.from_storage, served.to_storage = form.read, form.write if several else None


def as_stored(served: ServedResource, version: str) -> ServedResource:
    """A resource for objects that stay in the version which they are stored in."""
    return dataclasses.replace(
        served.unconverted, from_storage=lambda obj: unmarked(obj, version)[0],
        to_storage=lambda obj: marked(obj, version), in_version=renamed,
    )  # fmt: skip


def _subresources(group: str, version: Obj, kind: str) -> dict[str, Subresource]:
    given = version.get("subresources") or {}
    verbs = ("get", "patch", "update")
    found = {}
    if given.get("status") is not None:
        found["status"] = Subresource("status", group, version["name"], kind, verbs)
    if given.get("scale") is not None:
        found["scale"] = Subresource("scale", "autoscaling", "v1", "Scale", verbs)
    return found
