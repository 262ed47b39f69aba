"""Reviews (access, tokens, rules, self): objects that are posted, answered in their status, and never stored."""

from __future__ import annotations

from collections.abc import Callable

from jobrelay.apimachinery.access import Attributes
from jobrelay.apimachinery.field import FieldError
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.access import Access, TokenError
from jobrelay.cluster.apiserver.access.rbac import MASTERS
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.request import ApiRequest, UserInfo
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.kinds.authorization import reviews
from jobrelay.kinds.strategy import Obj

_CHECKS: dict[str, Callable[[Obj], list[FieldError]]] = {
    "subjectaccessreviews": reviews.subject_access_review_errors,
    "selfsubjectaccessreviews": reviews.self_subject_access_review_errors,
    "localsubjectaccessreviews": reviews.local_subject_access_review_errors,
}


class ReviewHandler:
    def __init__(self, server: ServerContext, access: Access) -> None:
        self._server, self._access = server, access
        self._answers: dict[str, Callable[[ApiRequest, Obj], None]] = {
            "subjectaccessreviews": self._access_review,
            "selfsubjectaccessreviews": self._access_review,
            "localsubjectaccessreviews": self._access_review,
            "selfsubjectrulesreviews": self._rules_review,
            "selfsubjectreviews": self._self_review,
            "tokenreviews": self._token_review,
        }

    def handles(self, served: ServedResource) -> bool:
        return served.group in ("authentication.k8s.io", "authorization.k8s.io")

    def answer(self, request: ApiRequest, served: ServedResource, obj: Obj) -> Obj:
        """The review with its status."""
        refusal = reviews.bad_request(served.kind, obj, request.info.namespace)
        if refusal:
            raise errors.bad_request(refusal)
        check = _CHECKS.get(served.plural)
        found = check(obj) if check is not None else []
        if found:
            raise errors.invalid(served.group, "", "", found)
        self._answers[served.plural](request, obj)
        return obj

    def _access_review(self, request: ApiRequest, obj: Obj) -> None:
        spec = obj["spec"]
        user = request.user
        if obj["kind"] != "SelfSubjectAccessReview":
            extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
            user = UserInfo(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)
        allowed, reason = self._access.authorizer.allowed(user, _attributes(spec))
        obj["status"] = {"allowed": allowed}
        why = self._why(user, _attributes(spec)) if allowed else ""
        if why:
            obj["status"]["reason"] = why
        if reason:
            obj["status"]["evaluationError"] = reason.removeprefix("RBAC: ")
            obj["status"]["reason"] = reason

    def _why(self, user: UserInfo, wanted: Attributes) -> str:
        if MASTERS in user.groups:
            return ""
        return self._access.authorizer.explain(user, wanted)

    def _rules_review(self, request: ApiRequest, obj: Obj) -> None:
        namespace = obj["spec"].get("namespace", "")
        if not namespace:
            raise errors.bad_request("no namespace on request")
        resources: list[Obj] = []
        paths: list[Obj] = []
        if MASTERS in request.user.groups:
            resources.append({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
            paths.append({"verbs": ["*"], "nonResourceURLs": ["*"]})
        for rule in self._access.authorizer.held(request.user, namespace):
            if rule.get("resources"):
                kept = ("verbs", "apiGroups", "resources", "resourceNames")
                _add(resources, {key: rule[key] for key in kept if rule.get(key)})
            if rule.get("nonResourceURLs"):
                _add(paths, {key: rule[key] for key in ("verbs", "nonResourceURLs")})
        obj["spec"] = {}
        obj["metadata"] = {}
        obj["status"] = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}

    def _self_review(self, request: ApiRequest, obj: Obj) -> None:
        obj["metadata"] = {"creationTimestamp": format_time(self._server.now())}
        obj["status"] = {"userInfo": request.user.info()}

    def _token_review(self, request: ApiRequest, obj: Obj) -> None:
        audiences = tuple(obj["spec"].get("audiences") or ())
        try:
            user, shared = self._access.identify_token(obj["spec"].get("token", ""), audiences)
        except TokenError as error:
            obj["status"] = {"user": {}, "error": str(error)}
            return
        obj["status"] = {"authenticated": True, "user": user.info(), "audiences": shared}


def _add(rules: list[Obj], rule: Obj) -> None:
    if rule not in rules or "*" not in rule["verbs"]:
        rules.append(rule)


def _attributes(spec: Obj) -> Attributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None:
        plain = {
            key: resource.get(key, "") for key in ("verb", "group", "resource", "subresource", "namespace", "name")
        }
        return Attributes(**plain)
    path = path or {}
    return Attributes(path.get("verb", ""), path=path.get("path", ""))
