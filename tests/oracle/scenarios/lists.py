"""Lists: paging, selectors, resource versions, forms; and watches that end by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import PARTIAL, PARTIAL_LIST, TABLE, Scenario, Step, delete, get, patch, post, put, request, scenario
from ._objects import CONFIGMAPS, CORE, JOBS, PODS, SECRETS, configmap, job, metadata, pod

MINE = "labelSelector=set=mine"


def _labelled(name: str, **labels: str) -> dict[str, object]:
    return metadata(configmap(name), labels={"set": "mine", **labels})


def _made() -> list[Step]:
    return [post(CONFIGMAPS, _labelled(f"c{n}", n=str(n), parity="even" if n % 2 == 0 else "odd")) for n in range(5)]


LABEL_SELECTORS = [
    "n=1",
    "n==1",
    "n!=1",
    "n",
    "!n",
    "n in (1,2)",
    "n notin (1,2)",
    "n=1,parity=odd",
    "parity=odd,n!=1",
    "n>2",
    "n<2",
    "n in ()",
    "n=",
    "=x",
    "n in (1",
    "bad key=x",
    "n=bad value",
    "n===1",
    ",",
    "n=1,",
    "n,!x",
    "n%20in%20(1,%202)",
    "n>x",
    "a/b/c=d",
    "n=" + "x" * 64,
    "-n=1",
    "n = 1",
    "(n)",
    "n notin",
    "!n=1",
    "n in (a,a)",
    "example.com/k=v",
    "/k=v",
    "n=!1",
    "set=mine,n gt 2",
]
FIELD_SELECTORS = [
    "metadata.name=c1",
    "metadata.name==c1",
    "metadata.name!=c1",
    "metadata.name",
    "metadata.namespace={{ns}}",
    "metadata.namespace=other",
    "data.k=v",
    "metadata.labels=x",
    "metadata.name=c1,metadata.namespace={{ns}}",
    "",
    "=",
    "x",
    "metadata.name=c1,metadata.name=c2",
    "metadata.name=Bad_Name",
    "metadata.name=",
    "metadata.name=a\\,b",
    ",",
    "metadata.uid=x",
]


def _selectors() -> Iterator[Step]:
    yield from _made()
    for text in LABEL_SELECTORS:
        yield get(
            f"{CONFIGMAPS}?labelSelector={text.replace(' ', '%20').replace('>', '%3E').replace('<', '%3C')}",
            PARTIAL_LIST,
        )
    for text in FIELD_SELECTORS:
        yield get(f"{CONFIGMAPS}?fieldSelector={text}", PARTIAL_LIST)
    yield get(f"{CONFIGMAPS}?labelSelector=n=1&fieldSelector=metadata.name=c1")
    yield get(f"{CONFIGMAPS}?labelSelector=n=1&fieldSelector=metadata.name=c2")
    for path, field in (
        (JOBS, "status.successful=0"),
        (JOBS, "status.failed=1"),
        (PODS, "spec.nodeName=x"),
        (PODS, "status.phase=Pending"),
        (PODS, "spec.colour=x"),
        (PODS, "spec.restartPolicy=Always"),
        (PODS, "spec.schedulerName=x"),
        (PODS, "spec.serviceAccountName=x"),
        (PODS, "status.podIP=1"),
        (PODS, "status.nominatedNodeName=x"),
        (PODS, "spec.hostNetwork=true"),
        (SECRETS, "type=Opaque"),
        (SECRETS, "data=x"),
        (f"{CORE}/events", "reason=R"),
        (f"{CORE}/events", "involvedObject.kind=Pod"),
        (f"{CORE}/events", "type=Normal"),
        (f"{CORE}/events", "bad=x"),
        (f"{CORE}/services", "spec.type=ClusterIP"),
        (f"{CORE}/services", "spec.clusterIP=None"),
        ("/api/v1/nodes", "spec.unschedulable=true"),
        ("/api/v1/nodes", "spec.x=1"),
        ("/api/v1/namespaces", "status.phase=Terminatin"),
        (f"{CORE}/replicationcontrollers", "status.replicas=0"),
        ("/apis/apps/v1/namespaces/{{ns}}/replicasets", "status.replicas=0"),
        ("/apis/apps/v1/namespaces/{{ns}}/deployments", "status.replicas=0"),
        ("/apis/events.k8s.io/v1/namespaces/{{ns}}/events", "regarding.kind=Pod"),
        ("/apis/events.k8s.io/v1/namespaces/{{ns}}/events", "involvedObject.kind=Pod"),
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests", "spec.signerName=x"),
        (f"{CORE}/persistentvolumeclaims", "spec.x=1"),
        ("/apis/resource.k8s.io/v1/resourceslices", "spec.driver=none"),
        ("/apis/resource.k8s.io/v1/resourceslices", "spec.x=none"),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "spec.group=none"),
        ("/apis/storage.k8s.io/v1/storageclasses", "provisioner=x"),
    ):
        yield get(f"{path}?fieldSelector={field}")


def _paging() -> Iterator[Step]:
    yield from _made()
    yield get(f"{CONFIGMAPS}?limit=2", capture={"token": "metadata.continue", "rv": "metadata.resourceVersion"})
    yield get(f"{CONFIGMAPS}?limit=2&continue={{{{token}}}}", capture={"token2": "metadata.continue"})
    yield delete(f"{CONFIGMAPS}/c4")
    yield post(CONFIGMAPS, _labelled("c5"))
    yield get(f"{CONFIGMAPS}?limit=2&continue={{{{token2}}}}", capture={"token3": "metadata.continue"})
    yield get(f"{CONFIGMAPS}?continue={{{{token2}}}}")
    yield get(f"{CONFIGMAPS}?limit=2&{MINE}", capture={"sel": "metadata.continue"})
    yield get(f"{CONFIGMAPS}?limit=2&{MINE}&continue={{{{sel}}}}")
    yield get(f"{CONFIGMAPS}?limit=2&fieldSelector=metadata.name!=c1")
    for query in (
        "limit=0",
        "limit=-1",
        "limit=abc",
        "limit=1000",
        "limit=9999999999999999999999",
        "continue=bad",
        "limit=2&continue=bad",
        "limit=1&resourceVersion=0",
        "limit=2&continue={{token}}&resourceVersion=5",
        "limit=2&continue={{token}}&resourceVersion=0",
        "limit=2&continue={{token}}&resourceVersionMatch=Exact",
        "limit=",
        "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYyJ9",
        "continue=eyJ2IjoidjIifQ",
    ):
        yield get(f"{CONFIGMAPS}?{query}")
    yield get(f"{CONFIGMAPS}?limit=2", TABLE)
    yield get(f"{CONFIGMAPS}?limit=2", PARTIAL_LIST)


def _versions() -> Iterator[Step]:
    yield post(CONFIGMAPS, _labelled("a"), capture={"rv": "metadata.resourceVersion"})
    yield post(CONFIGMAPS, _labelled("b"), capture={"rv2": "metadata.resourceVersion"})
    for query in (
        "resourceVersion={{rv2}}",
        "resourceVersion=0",
        "resourceVersion={{rv}}",
        "resourceVersion={{rv}}&resourceVersionMatch=Exact",
        "resourceVersion={{rv2}}&resourceVersionMatch=Exact",
        "resourceVersion={{rv}}&resourceVersionMatch=NotOlderThan",
        "resourceVersion=0&resourceVersionMatch=NotOlderThan",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=NotOlderThan",
        "resourceVersion={{rv}}&resourceVersionMatch=Bad",
        "resourceVersion=abc",
        "resourceVersion=-1",
        "resourceVersion=1.5",
        "resourceVersion={{rv}}&resourceVersionMatch=Exact&limit=1",
        "resourceVersion={{rv2}}&limit=1",
        "sendInitialEvents=true",
        "sendInitialEvents=bad",
        "resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        "unknown=1",
        "pretty=true",
        "allowWatchBookmarks=true",
        "timeoutSeconds=5",
        "timeoutSeconds=abc",
        "resourceVersion=",
    ):
        yield get(f"{CONFIGMAPS}?{MINE}&{query}")
    yield get(f"{CONFIGMAPS}?{MINE}&resourceVersion=99999999999")
    for query in (
        "resourceVersion=0",
        "resourceVersion={{rv}}",
        "resourceVersion=abc",
        "resourceVersion={{rv2}}&resourceVersionMatch=Exact",
        "exact=true",
        "export=true",
    ):
        yield get(f"{CONFIGMAPS}/a?{query}")
    yield get("/api/v1/configmaps?" + MINE + "&fieldSelector=metadata.namespace={{ns}}")
    yield get("/api/v1/namespaces/no-such-ns/configmaps")
    yield get("/api/v1/namespaces/no-such-ns/configmaps/x")
    for accept in (TABLE, PARTIAL_LIST, PARTIAL, "application/yaml"):
        yield get(f"{CONFIGMAPS}?{MINE}", accept)
    for include in ("None", "Metadata", "Object", "Bad"):
        yield get(f"{CONFIGMAPS}/a?includeObject={include}", TABLE)
    for method, path in (
        ("HEAD", f"{CONFIGMAPS}/a"),
        ("OPTIONS", CONFIGMAPS),
        ("POST", f"{CONFIGMAPS}/a"),
        ("PATCH", CONFIGMAPS),
        ("PUT", CONFIGMAPS),
        ("TRACE", CONFIGMAPS),
    ):
        yield request(method, path)


def _watch_history() -> Iterator[Step]:
    watch = f"{CONFIGMAPS}?watch=1&timeoutSeconds=1&resourceVersion={{{{rv}}}}"
    yield post(CONFIGMAPS, _labelled("a"), capture={"rv": "metadata.resourceVersion"})
    yield post(CONFIGMAPS, _labelled("b"))
    yield patch(f"{CONFIGMAPS}/b", {"metadata": {"labels": {"set": "other"}}})
    yield put(f"{CONFIGMAPS}/a", _labelled("a"))
    yield patch(f"{CONFIGMAPS}/a", {"data": {"n": "1"}})
    yield patch(f"{CONFIGMAPS}/b", {"metadata": {"labels": {"set": "mine"}}})
    yield delete(f"{CONFIGMAPS}/a")
    yield get(watch)
    yield get(f"{watch}&{MINE}")
    yield get(f"{watch}&labelSelector=set=other")
    yield get(f"{watch}&fieldSelector=metadata.name=b")
    yield get(f"{watch}&{MINE}", TABLE)
    yield get(f"{watch}&{MINE}", PARTIAL)
    yield get(f"{watch}&{MINE}", "application/json;stream=watch")
    yield get(f"{watch}&allowWatchBookmarks=true")
    yield get("/api/v1/watch/namespaces/{{ns}}/configmaps?timeoutSeconds=1&resourceVersion={{rv}}")
    yield get("/api/v1/watch/namespaces/{{ns}}/configmaps/b?timeoutSeconds=1&resourceVersion={{rv}}")
    yield get(f"{CONFIGMAPS}/b?watch=true&timeoutSeconds=1&resourceVersion={{{{rv}}}}")


def _watch_start() -> Iterator[Step]:
    yield post(CONFIGMAPS, _labelled("b"))
    yield post(CONFIGMAPS, _labelled("a"), capture={"rv": "metadata.resourceVersion"})
    base = f"{CONFIGMAPS}?{MINE}&timeoutSeconds=1"
    for query in (
        "watch=true",
        "watch=1",
        "watch=True",
        "watch=true&resourceVersion=0",
        "watch=true&resourceVersion=abc",
        "watch=true&resourceVersion=99999999999",
        "watch=true&limit=1",
        "watch=bad",
        "watch=0",
        "watch=false",
        "watch=true&sendInitialEvents=true",
        "watch=true&resourceVersionMatch=NotOlderThan",
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        "&allowWatchBookmarks=true&resourceVersion={{rv}}",
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        "watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion={{rv}}",
        "watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
        "watch=true&sendInitialEvents=false",
        "watch=true&continue=x",
        "watch=true&fieldSelector=bad=1",
        "watch=true&labelSelector=!!",
        "watch=true&resourceVersion={{rv}}&resourceVersionMatch=Exact",
    ):
        yield get(f"{base}&{query}")
    yield get(
        f"{base}&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", PARTIAL
    )
    yield get(
        f"{base}&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", TABLE
    )
    yield get(f"{base}&watch=true", TABLE)
    yield get(f"{base}&watch=true", "text/html")
    yield get(f"{CONFIGMAPS}?watch=true&timeoutSeconds=0&{MINE}&resourceVersion=abc")


def _watch_jobs() -> Iterator[Step]:
    yield post(JOBS, job("a"), capture={"rv": "metadata.resourceVersion"})
    yield patch(f"{JOBS}/a/status", {"status": {"active": 1}})
    yield patch(f"{JOBS}/a/status", {"status": {"succeeded": 1}})
    yield delete(f"{JOBS}/a", {"propagationPolicy": "Background"})
    yield get(f"{JOBS}?watch=1&timeoutSeconds=1&resourceVersion={{{{rv}}}}")
    yield get(f"{JOBS}?watch=1&timeoutSeconds=1&resourceVersion={{{{rv}}}}&fieldSelector=status.successful=1")
    yield post(PODS, pod("p"), capture={"rv": "metadata.resourceVersion"})
    yield patch(f"{PODS}/p/status", {"status": {"phase": "Running"}})
    yield delete(f"{PODS}/p")
    yield get(f"{PODS}?watch=1&timeoutSeconds=1&resourceVersion={{{{rv}}}}")
    yield get(f"{PODS}?watch=1&timeoutSeconds=1&resourceVersion={{{{rv}}}}&fieldSelector=status.phase=Running")
    yield get(f"{PODS}?watch=1&timeoutSeconds=1&resourceVersion={{{{rv}}}}", TABLE)


def scenarios() -> Iterator[Scenario]:
    yield scenario("lists-selectors", _selectors())
    yield scenario("lists-paging", _paging())
    yield scenario("lists-versions", _versions())
    yield scenario("watch-history", _watch_history())
    yield scenario("watch-start", _watch_start())
    yield scenario("watch-jobs-pods", _watch_jobs())
