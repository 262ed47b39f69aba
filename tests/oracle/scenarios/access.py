"""RBAC: objects, refusals and their texts, escalation, reviews, service account tokens, impersonation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import (
    PARTIAL,
    PARTIAL_LIST,
    TABLE,
    Scenario,
    Step,
    apply,
    as_user,
    delete,
    get,
    patch,
    post,
    put,
    request,
    scenario,
)
from ._objects import CONFIGMAPS, CORE, JOBS, PODS, VERSION, cases, configmap, job, metadata, pod

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC}/namespaces/{{{{ns}}}}/roles"
BINDINGS = f"{RBAC}/namespaces/{{{{ns}}}}/rolebindings"
CLUSTER_ROLES = f"{RBAC}/clusterroles"
CLUSTER_BINDINGS = f"{RBAC}/clusterrolebindings"
REVIEWS = "/apis/authorization.k8s.io/v1"
AUTHN = "/apis/authentication.k8s.io/v1"
TOKENS = f"{CORE}/serviceaccounts/default/token"
FORMS = (("kind",), ("apiVersion",), ("message",), ("reason",))


def _rule(verbs: list[str], resources: list[str], groups: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return {"apiGroups": [""] if groups is None else groups, "resources": resources, "verbs": verbs, **more}


def _role(name: str, *rules: dict[str, Any], kind: str = "Role", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "rules": list(rules),
        **more,
    }


def _binding(name: str, role: str, *users: str, kind: str = "Role", binding: str = "RoleBinding") -> dict[str, Any]:
    subjects = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user} for user in users]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": binding,
        "metadata": {"name": name},
        "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
    }


def _refused() -> Iterator[Step]:
    steps = [
        get(CONFIGMAPS),
        get(f"{CONFIGMAPS}/x"),
        post(CONFIGMAPS, configmap()),
        put(f"{CONFIGMAPS}/x", configmap("x")),
        patch(f"{CONFIGMAPS}/x", {}),
        delete(f"{CONFIGMAPS}/x"),
        delete(CONFIGMAPS),
        get(f"{CONFIGMAPS}?watch=1&timeoutSeconds=1"),
        get("/api/v1/configmaps"),
        get("/api/v1/nodes"),
        get("/api/v1/nodes/x"),
        get(JOBS),
        get(f"{JOBS}/x/status"),
        patch(f"{JOBS}/x/status", {}),
        get(f"{PODS}/x/log"),
        post(f"{PODS}/x/eviction", {}),
        post(TOKENS, {}),
        get("/apis"),
        get("/metrics"),
        get("/nothing"),
        get("/openapi/v2", pick=(("swagger",), ("message",))),
        post(f"{REVIEWS}/subjectaccessreviews", {}),
        post("/apis/batch/v1/namespaces/none/jobs", job()),
        get("/apis/none.example.com/v1/things"),
        get("/api/v1/namespaces"),
        get("/api/v1/namespaces/{{ns}}"),
        delete("/api/v1/namespaces/{{ns}}"),
        apply(f"{CONFIGMAPS}/x", configmap("x")),
        put(f"{PODS}/x/ephemeralcontainers", pod()),
        get("/apis/batch/v1/jobs?fieldSelector=metadata.namespace=x"),
        post(CONFIGMAPS, "not json"),
    ]
    for step in steps:
        yield as_user(step, "nobody-{{run}}")
    yield as_user(get(CONFIGMAPS), "system:serviceaccount:{{ns}}:default")
    yield as_user(get(CONFIGMAPS), "x", "system:masters")
    yield request("GET", CONFIGMAPS, headers={"Impersonate-Group": "x"})
    yield request("GET", CONFIGMAPS, headers={"Impersonate-Uid": "x"})
    yield request("GET", CONFIGMAPS, headers={"Impersonate-User": ""})
    yield request("GET", f"{AUTHN}/selfsubjectreviews", headers={"Impersonate-User": "a"})


def _granted() -> Iterator[Step]:
    user = "user-{{run}}"
    yield post(
        ROLES,
        _role(
            "reader",
            _rule(["get", "list"], ["configmaps"]),
            _rule(["update", "patch"], ["jobs/status"], ["batch"]),
            _rule(["get"], ["secrets"], resourceNames=["one"]),
        ),
    )
    yield post(BINDINGS, _binding("reader", "reader", user))
    yield as_user(get(CONFIGMAPS + "?fieldSelector=metadata.name=none", until=200), user)
    yield as_user(get(f"{CONFIGMAPS}/none"), user)
    yield as_user(post(CONFIGMAPS, configmap()), user)
    yield as_user(get(f"{CONFIGMAPS}?watch=1"), user)
    yield as_user(get("/api/v1/configmaps"), user)
    yield as_user(patch(f"{JOBS}/none/status", {}), user)
    yield as_user(patch(f"{JOBS}/none", {}), user)
    yield as_user(get(f"{CORE}/secrets/one"), user)
    yield as_user(get(f"{CORE}/secrets/two"), user)
    yield as_user(get(f"{CORE}/secrets?fieldSelector=metadata.name=one"), user)
    yield as_user(get("/apis"), user)
    yield as_user(get("/apis"), user, "system:authenticated")
    yield as_user(get("/version", pick=VERSION), user, "system:authenticated")
    yield post(BINDINGS, _binding("missing", "none", "missing-{{run}}"))
    yield post(
        BINDINGS,
        {
            **_binding("grp", "reader"),
            "subjects": [
                {"kind": "Group", "name": "team-{{run}}", "apiGroup": "rbac.authorization.k8s.io"},
                {"kind": "ServiceAccount", "name": "default"},
            ],
        },
    )
    yield as_user(get(CONFIGMAPS + "?labelSelector=none=x", until=200), "someone", "team-{{run}}")
    yield as_user(get(CONFIGMAPS + "?labelSelector=none=x", until=200), "system:serviceaccount:{{ns}}:default")
    yield post(BINDINGS, _binding("viewer", "view", "viewer-{{run}}", kind="ClusterRole"))
    yield as_user(get(CONFIGMAPS), "missing-{{run}}")
    yield as_user(get(PODS, until=200), "viewer-{{run}}")
    yield as_user(get(f"{CORE}/secrets"), "viewer-{{run}}")
    yield as_user(delete(f"{PODS}/x"), "viewer-{{run}}")
    yield post(BINDINGS, _binding("editor", "edit", "editor-{{run}}", kind="ClusterRole"))
    yield as_user(post(CONFIGMAPS, configmap("edited"), until=201), "editor-{{run}}")
    yield as_user(post(ROLES, _role("x")), "editor-{{run}}")
    yield delete(f"{BINDINGS}/reader")
    yield as_user(get(CONFIGMAPS, until=403), user)


def _relabelled() -> Iterator[Step]:
    """Changes of roles and bindings that grant what the user does not hold; most change metadata only."""
    user, group = "labels-{{run}}", ["rbac.authorization.k8s.io"]
    manager, whole = "labels-mgr-{{run}}", f"{CLUSTER_ROLES}/labels-whole-{{{{run}}}}"
    verbs = ["get", "create", "update", "patch"]
    selects = {"clusterRoleSelectors": [{"matchLabels": {"labels-{{run}}": "x"}}]}
    kinds = ["roles", "rolebindings", "clusterroles"]
    yield post(CLUSTER_ROLES, _role(manager, _rule(verbs, kinds, group), kind="ClusterRole"))
    yield post(CLUSTER_BINDINGS, _binding(manager, manager, user, kind="ClusterRole", binding="ClusterRoleBinding"))
    yield post(ROLES, _role("strong", _rule(["get"], ["secrets"])))
    yield post(BINDINGS, _binding("strong", "strong", "x"))
    yield post(CLUSTER_ROLES, _role("labels-whole-{{run}}", kind="ClusterRole", aggregationRule=selects))
    yield as_user(get(f"{ROLES}/none", until=404), user)
    labels = {"metadata": {"labels": {"a": "b"}}}
    for path in (f"{ROLES}/strong", f"{BINDINGS}/strong", whole):
        for change in (labels, {"metadata": {"annotations": {"a": "b"}}}, {}, {"metadata": {"finalizers": []}}):
            yield as_user(patch(path, change), user)
    yield as_user(apply(f"{ROLES}/strong", {**_role("strong"), **labels, "rules": None}, force=True), user)
    yield as_user(put(f"{ROLES}/strong", _role("strong", _rule(["get"], ["secrets"]))), user)
    yield as_user(patch(whole, {"aggregationRule": None}), user)
    yield as_user(post(CLUSTER_ROLES, _role("labels-n", kind="ClusterRole", aggregationRule=selects)), user)
    yield as_user(patch(f"{ROLES}/strong", {"rules": []}), user)


def _created_by_update() -> Iterator[Step]:
    """Updates and applies that create, and connections by GET, by a user without `create`."""
    user = "updater-{{run}}"
    leases = "/apis/coordination.k8s.io/v1/namespaces/{{ns}}/leases"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}}
    connections = [f"pods/{what}" for what in ("exec", "attach", "portforward")]
    rules = (
        _rule(["get", "update", "patch"], ["configmaps"]),
        _rule(["update", "patch"], ["leases"], ["coordination.k8s.io"]),
        _rule(["get"], connections),
    )
    yield post(ROLES, _role("updater", *rules))
    yield post(BINDINGS, _binding("updater", "updater", user))
    yield as_user(get(f"{CONFIGMAPS}/none", until=404), user)
    yield as_user(apply(f"{CONFIGMAPS}/a", {**configmap(), "metadata": {"name": "a"}}), user)
    yield as_user(apply(f"{CONFIGMAPS}/a", {**configmap(), "metadata": {"name": "a"}, "data": {"?": "x"}}), user)
    yield as_user(put(f"{CONFIGMAPS}/a", {**configmap(), "metadata": {"name": "a"}}), user)
    yield as_user(put(f"{leases}/a", lease), user)
    yield as_user(put(f"{leases}/a?dryRun=All", lease), user)
    yield as_user(apply(f"{leases}/a", lease), user)
    for connection in connections:
        yield as_user(get(f"{PODS}/none/{connection.removeprefix('pods/')}?command=x"), user)
        yield as_user(post(f"{PODS}/none/{connection.removeprefix('pods/')}?command=x", None), user)


def _escalation() -> Iterator[Step]:
    user = "admin-{{run}}"
    yield post(
        ROLES,
        _role(
            "mgr",
            _rule(
                ["get", "create", "update", "patch", "delete"], ["roles", "rolebindings"], ["rbac.authorization.k8s.io"]
            ),
            _rule(["get", "list"], ["pods"]),
        ),
    )
    yield post(BINDINGS, _binding("mgr", "mgr", user))
    yield as_user(get(f"{ROLES}/none", until=404), user)
    yield as_user(post(ROLES, _role("ok", _rule(["get"], ["pods"]))), user)
    yield as_user(post(ROLES, _role("too-much", _rule(["get", "delete"], ["pods"]))), user)
    yield as_user(
        post(
            ROLES,
            _role(
                "many",
                _rule(["get"], ["pods", "secrets"]),
                _rule(["*"], ["*"], ["batch"]),
                _rule(["get"], ["x"], resourceNames=["a"]),
            ),
        ),
        user,
    )
    yield as_user(put(f"{ROLES}/ok", _role("ok", _rule(["create"], ["pods"]))), user)
    yield as_user(patch(f"{ROLES}/ok", {"rules": [_rule(["*"], ["*"], ["*"])]}), user)
    yield as_user(patch(f"{ROLES}/ok", {"metadata": {"labels": {"a": "b"}}}), user)
    yield as_user(post(BINDINGS, _binding("b1", "ok", "x")), user)
    yield as_user(post(BINDINGS, _binding("b2", "view", "x", kind="ClusterRole")), user)
    yield as_user(post(BINDINGS, _binding("b3", "none", "x")), user)
    yield as_user(post(BINDINGS, _binding("b4", "none", "x", kind="ClusterRole")), user)
    yield as_user(delete(f"{ROLES}/ok"), user)
    yield as_user(post(CLUSTER_ROLES, _role("x", kind="ClusterRole")), user)


ROLE_CASES: list[dict[str, Any]] = [
    _role("a"),
    {"metadata": {"name": "b"}},
    _role("c", {}),
    _role("d", _rule([], ["pods"])),
    _role("e", {"verbs": ["get"]}),
    _role("f", _rule(["get"], [])),
    _role("g", _rule(["get"], ["pods"], [])),
    _role("h", {"verbs": ["get"], "nonResourceURLs": ["/x"]}),
    _role("i", _rule(["get"], ["pods"], nonResourceURLs=["/x"])),
    _role("Any_Name:x", _rule(["get"], ["pods"])),
    _role("bad/name"),
    _role("j", _rule(["get"], ["pods"]), _rule([], [])),
    _role("k", _rule(["x y"], ["bad res"])),
    _role("%"),
    _role(".."),
]
BINDING_CASES: list[dict[str, Any]] = [
    _binding("a", "r"),
    {"metadata": {"name": "b"}},
    {**_binding("c", "r"), "roleRef": {"kind": "Role", "name": "r"}},
    {**_binding("d", "r"), "roleRef": {"apiGroup": "x", "kind": "Role", "name": "r"}},
    {**_binding("e", "r"), "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Bad", "name": "r"}},
    {**_binding("f", "r"), "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role"}},
    {**_binding("g", "r"), "subjects": [{}]},
    {**_binding("h", "r"), "subjects": [{"kind": "User"}]},
    {**_binding("i", "r"), "subjects": [{"kind": "User", "name": "u"}]},
    {**_binding("j", "r"), "subjects": [{"kind": "ServiceAccount", "name": "Bad_"}]},
    {**_binding("k", "r"), "subjects": [{"kind": "ServiceAccount", "name": "a", "apiGroup": "x"}]},
    {**_binding("l", "r"), "subjects": [{"kind": "Bad", "name": "x"}]},
    {**_binding("m", "r"), "subjects": [{"kind": "Group", "name": "g", "namespace": "n"}]},
    {**_binding("n", "r"), "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "bad/name"}},
    {
        **_binding("o", "r"),
        "subjects": [
            {"kind": "ServiceAccount", "name": "a"},
            {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
        ],
    },
]


def _objects() -> Iterator[Step]:
    yield from (post(ROLES, body) for body in ROLE_CASES)
    yield from (post(BINDINGS, body) for body in BINDING_CASES)
    yield put(f"{BINDINGS}/a", _binding("a", "other"))
    yield patch(f"{BINDINGS}/a", {"roleRef": {"name": "z"}})
    yield patch(f"{BINDINGS}/a", {"roleRef": {"kind": "ClusterRole"}})
    name = "cmp-{{run}}-"
    for number, body in enumerate(
        (
            _role("x", {"verbs": ["get"], "nonResourceURLs": ["/x"]}),
            _role("x", {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["p"], "apiGroups": [""]}),
            _role("x", {"verbs": ["get"]}),
            _role("x", aggregationRule={}),
            _role("x", aggregationRule={"clusterRoleSelectors": []}),
            _role(
                "x", aggregationRule={"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Bad"}]}]}
            ),
        )
    ):
        yield post(CLUSTER_ROLES, {**metadata(body, name=f"{name}{number}"), "kind": "ClusterRole"})
    yield post(
        CLUSTER_BINDINGS, {**_binding(name + "0", "view", "u", kind="ClusterRole"), "kind": "ClusterRoleBinding"}
    )
    yield post(CLUSTER_BINDINGS, {**_binding(name + "1", "view", "u", kind="Role"), "kind": "ClusterRoleBinding"})
    yield post(
        CLUSTER_BINDINGS,
        {
            **_binding(name + "2", "view", kind="ClusterRole"),
            "kind": "ClusterRoleBinding",
            "subjects": [{"kind": "ServiceAccount", "name": "x"}],
        },
    )
    yield get(f"{CLUSTER_ROLES}/system:basic-user")
    for role in (
        "cluster-admin",
        "admin",
        "edit",
        "view",
        "system:discovery",
        "system:public-info-viewer",
        "system:aggregate-to-view",
        "system:controller:job-controller",
        "system:kube-scheduler",
        "system:node",
        "system:auth-delegator",
    ):
        yield get(f"{CLUSTER_ROLES}/{role}")
    for binding in (
        "cluster-admin",
        "system:discovery",
        "system:basic-user",
        "system:public-info-viewer",
        "system:controller:job-controller",
    ):
        yield get(f"{CLUSTER_BINDINGS}/{binding}")
    yield get(f"{RBAC}/namespaces/kube-system/roles/extension-apiserver-authentication-reader")
    yield get(f"{RBAC}/namespaces/kube-public/roles")


def _access(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}


def _reviews() -> Iterator[Step]:
    ssar, sar, lsar, ssrr = (
        f"{REVIEWS}/{plural}"
        for plural in (
            "selfsubjectaccessreviews",
            "subjectaccessreviews",
            "namespaces/{{ns}}/localsubjectaccessreviews",
            "selfsubjectrulesreviews",
        )
    )
    pods = {"verb": "get", "resource": "pods", "namespace": "{{ns}}"}
    user = "nobody-{{run}}"
    for spec in cases(
        {"resourceAttributes": pods},
        {"nonResourceAttributes": {"path": "/x", "verb": "get"}},
        {},
        {"resourceAttributes": pods, "nonResourceAttributes": {"path": "/x"}},
        {"resourceAttributes": {}},
        {"resourceAttributes": {**pods, "fieldSelector": {"rawSelector": "a=b"}}},
        {
            "resourceAttributes": {
                **pods,
                "labelSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]},
            }
        },
        {"resourceAttributes": {**pods, "subresource": "log", "name": "x", "group": "*", "version": "v1"}},
    ):
        yield post(ssar, _access(**spec))
        yield as_user(post(ssar, _access(**spec)), user, "system:authenticated")
    yield post(ssar, "{")
    yield post(ssar, {**_access(resourceAttributes=pods), "metadata": {"name": "x"}})
    yield post(ssar + "?dryRun=All", _access(resourceAttributes=pods))
    yield as_user(post(ssar, _access(resourceAttributes=pods)), user)
    for spec in cases(
        {"user": user, "resourceAttributes": pods},
        {"resourceAttributes": pods},
        {"groups": ["system:masters"], "resourceAttributes": pods},
        {"user": user},
        {},
        {"user": user, "groups": ["system:authenticated"], "nonResourceAttributes": {"path": "/api", "verb": "get"}},
        {"user": user, "extra": {"a": ["b"]}, "uid": "u", "resourceAttributes": pods},
        {
            "user": "system:serviceaccount:kube-system:job-controller",
            "resourceAttributes": {"verb": "update", "group": "batch", "resource": "jobs", "subresource": "status"},
        },
    ):
        yield post(sar, {"spec": spec})
        yield post(lsar, {"metadata": {"namespace": "{{ns}}"}, "spec": spec})
    yield post(lsar, {"spec": {"user": user, "resourceAttributes": {**pods, "namespace": "other"}}})
    for namespace in ("{{ns}}", "", "none"):
        yield as_user(post(ssrr, {"spec": {"namespace": namespace}}, unordered=True), user, "system:authenticated")
    yield post(ssrr, {"spec": {"namespace": "{{ns}}"}}, unordered=True)
    yield as_user(post(f"{AUTHN}/selfsubjectreviews", {}), user)
    yield as_user(
        post(f"{AUTHN}/selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        user,
        "g",
    )
    yield post(
        f"{AUTHN}/selfsubjectreviews",
        {},
        headers={"Impersonate-User": "u", "Impersonate-Uid": "id", "Impersonate-Extra-Scope": "a"},
    )


def _tokens() -> Iterator[Step]:
    review = f"{AUTHN}/tokenreviews"
    yield post(TOKENS, {"spec": {}}, capture={"token": "status.token"})
    yield post(review, {"spec": {"token": "{{token}}"}})
    yield post(review, {"spec": {"token": "{{token}}", "audiences": ["other"]}})
    yield post(review, {"spec": {"token": "{{token}}", "audiences": ["https://kubernetes.default.svc", "x"]}})
    yield post(review, {"spec": {"token": "bad"}})
    yield post(review, {"spec": {"token": "a.b.c"}})
    yield post(review, {"spec": {}})
    yield post(review, {"spec": {"token": "{{token}}", "audiences": []}})
    for spec in cases(
        {"expirationSeconds": 600},
        {"expirationSeconds": 599},
        {"expirationSeconds": 4294967297},
        {"audiences": ["a", "b"]},
        {"audiences": [""]},
        {"expirationSeconds": 3607},
        {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}},
        {"boundObjectRef": {"kind": "Bad", "apiVersion": "v1", "name": "none"}},
        {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "none"}},
        {"boundObjectRef": {}},
    ):
        yield post(TOKENS, {"spec": spec})
    yield post(f"{CORE}/serviceaccounts/none/token", {"spec": {}})
    yield post(TOKENS, {"metadata": {"name": "other"}, "spec": {}})
    yield post(TOKENS, {"apiVersion": "v1", "kind": "TokenRequest", "spec": {}})
    yield get(TOKENS)
    yield post(TOKENS + "?dryRun=All", {"spec": {}})
    yield post(TOKENS, {"spec": {"audiences": ["only-this"]}}, capture={"other": "status.token"})
    yield get(CONFIGMAPS, headers={"Authorization": "Bearer {{other}}"})
    yield get(CONFIGMAPS, headers={"Authorization": "Bearer {{token}}"})
    yield get("/version", headers={"Authorization": "Bearer {{token}}"}, pick=VERSION)
    yield post(f"{AUTHN}/selfsubjectreviews", {}, headers={"Authorization": "Bearer {{token}}"})
    for form in (TABLE, PARTIAL, PARTIAL_LIST, f"{TABLE},application/json"):
        yield post(TOKENS, {"spec": {}}, headers={"Accept": form}, pick=(*FORMS, ("metadata", "name")))
        yield post(f"{AUTHN}/selfsubjectreviews", {}, headers={"Accept": form}, pick=FORMS)
        asked = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
        yield post(f"{REVIEWS}/selfsubjectaccessreviews", asked, headers={"Accept": form})
    yield post(
        f"{REVIEWS}/selfsubjectaccessreviews",
        _access(resourceAttributes={"verb": "get", "resource": "pods"}),
        headers={"Authorization": "Bearer {{token}}"},
    )
    yield get(CONFIGMAPS, headers={"Authorization": "Bearer {{token}}", "Impersonate-User": "x"})
    yield post(PODS, pod("bound"), capture={"uid": "metadata.uid"})
    yield post(
        TOKENS,
        {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "bound"}}},
        capture={"bound": "status.token"},
    )
    yield post(
        TOKENS, {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "bound", "uid": "wrong"}}}
    )
    yield post(review, {"spec": {"token": "{{bound}}"}})
    yield delete(f"{PODS}/bound")
    yield delete(f"{CORE}/serviceaccounts/default")
    for header in ("Basic x", "Bearer", "Bearer ", "bearer {{token}}", "Nothing"):
        yield get(CONFIGMAPS, headers={"Authorization": header})


def scenarios() -> Iterator[Scenario]:
    yield scenario("access-refused", _refused())
    yield scenario("access-granted", _granted())
    yield scenario("access-escalation", _escalation())
    yield scenario(
        "access-relabelled",
        _relabelled(),
        cleanup=[
            f"{CLUSTER_ROLES}/labels-mgr-{{{{run}}}}",
            f"{CLUSTER_BINDINGS}/labels-mgr-{{{{run}}}}",
            f"{CLUSTER_ROLES}/labels-whole-{{{{run}}}}",
        ],
    )
    yield scenario("access-created-by-update", _created_by_update())
    numbers = [str(n) for n in range(6)]
    yield scenario(
        "access-objects",
        _objects(),
        [f"{CLUSTER_ROLES}/cmp-{{{{run}}}}-{n}" for n in numbers]
        + [f"{CLUSTER_BINDINGS}/cmp-{{{{run}}}}-{n}" for n in numbers],
    )
    yield scenario("access-reviews", _reviews())
    yield scenario("access-tokens", _tokens())
