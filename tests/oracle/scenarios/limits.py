"""Limit ranges: defaults of containers, bounds of containers, pods and claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import STRATEGIC, Scenario, Step, delete, get, patch, post, put, scenario
from ._objects import CORE, PODS, Object, container, pod
from .quota import claim, sized

RANGES = f"{CORE}/limitranges"
CLAIMS = f"{CORE}/persistentvolumeclaims"


def limits(*items: Object, name: str = "l") -> Object:
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": list(items)}}


def bounds(kind: str, **fields: Any) -> Object:
    return {"type": kind, **fields}


def _defaults() -> Iterator[Step]:
    yield post(
        RANGES, limits(bounds("Container", default={"cpu": "500m", "memory": "1Gi"}, defaultRequest={"cpu": "100m"}))
    )
    yield get(f"{RANGES}/l")
    yield post(PODS, pod("z"), until=201)
    yield post(PODS, pod("a"))
    yield post(PODS, sized("b", {"cpu": "200m"}))
    yield post(PODS, sized("c", {"cpu": "600m"}))
    yield post(PODS, sized("d", None, {"cpu": "50m"}))
    yield post(
        PODS,
        pod(
            "e", initContainers=[{**container(), "name": "i"}, {**container(), "name": "s", "restartPolicy": "Always"}]
        ),
    )
    yield post(PODS, sized("f", {"cpu": "100m"}, {"cpu": "1", "memory": "2Gi"}))
    yield post(PODS, pod("g", resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}))
    yield post(f"{PODS}?dryRun=All", pod("h"))
    yield patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})
    resize = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "300m"}}}]}}
    yield patch(f"{PODS}/b/resize", resize, STRATEGIC)
    yield post(RANGES, limits(bounds("Container", defaultRequest={"memory": "1Mi", "example.com/x": "1"}), name="m"))
    yield get(RANGES)


def _filled() -> Iterator[Step]:
    """What a limit range itself is completed with."""
    yield post(RANGES, limits(bounds("Container", max={"cpu": "1", "memory": "1Gi"})))
    yield post(RANGES, limits(bounds("Container", max={"cpu": "1"}, min={"cpu": "100m"}), name="m"))
    yield post(RANGES, limits(bounds("Container", max={"cpu": "2"}, default={"cpu": "1"}), name="n"))
    yield post(RANGES, limits(bounds("Pod", max={"cpu": "1"}, min={"cpu": "100m"}), name="o"))
    yield post(RANGES, limits(bounds("Container", default={"cpu": "1"}, defaultRequest={"cpu": "2"}), name="p"))
    yield put(f"{RANGES}/l", limits(bounds("Container", min={"cpu": "1"})))
    yield delete(f"{RANGES}/m")


def _containers() -> Iterator[Step]:
    bound = bounds(
        "Container", min={"cpu": "100m"}, max={"cpu": "1"}, default={"cpu": "200m"}, defaultRequest={"cpu": "150m"},
        maxLimitRequestRatio={"cpu": "4"},
    )  # fmt: skip
    yield post(RANGES, limits(bound))
    yield post(PODS, sized("z", {"cpu": "1m"}, {"cpu": "1m"}), until=403, unordered=True)
    yield post(PODS, pod("a"))
    yield post(PODS, sized("b", {"cpu": "50m"}, {"cpu": "150m"}))
    yield post(PODS, sized("c", {"cpu": "50m"}, {"cpu": "60m"}))
    yield post(PODS, sized("d", {"cpu": "1"}, {"cpu": "2"}))
    yield post(PODS, sized("e", {"cpu": "100m"}, {"cpu": "900m"}))
    yield post(PODS, sized("f", {"cpu": "0"}, {"cpu": "900m"}))
    first = {**container(resources={"requests": {"cpu": "10m"}, "limits": {"cpu": "20m"}}), "name": "i"}
    yield post(PODS, pod("g", initContainers=[first]))
    resize = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}}}]}}
    yield patch(f"{PODS}/a/resize", resize, STRATEGIC)


def _pods() -> Iterator[Step]:
    yield post(RANGES, limits(bounds("Pod", min={"memory": "64Mi"}, max={"memory": "1Gi"})))
    yield post(PODS, pod("z"), until=403)
    yield post(PODS, sized("a", {"memory": "32Mi"}, {"memory": "512Mi"}))
    yield post(PODS, sized("b", {"memory": "64Mi"}))
    yield post(PODS, sized("c", {"memory": "64Mi"}, {"memory": "2Gi"}))
    two = [{**container(resources={"limits": {"memory": "600Mi"}}), "name": name} for name in ("c", "d")]
    yield post(PODS, pod("d", containers=two))
    yield post(PODS, pod("e", containers=two[:1], initContainers=[{**two[1], "name": "i"}]))
    yield post(PODS, pod("f", containers=two[:1], initContainers=[{**two[1], "name": "i", "restartPolicy": "Always"}]))
    yield post(PODS, pod("g", resources={"requests": {"memory": "32Mi"}, "limits": {"memory": "64Mi"}}))
    yield post(PODS, pod("h", resources={"requests": {"memory": "64Mi"}, "limits": {"memory": "128Mi"}}))


def _ratio() -> Iterator[Step]:
    yield post(RANGES, limits(bounds("Pod", maxLimitRequestRatio={"cpu": "1500m"})))
    yield post(PODS, pod("z"), until=403)
    yield post(PODS, sized("a", {"cpu": "100m"}))
    yield post(PODS, sized("b", {"cpu": "100m"}, {"cpu": "200m"}))
    yield post(PODS, sized("c", {"cpu": "100m"}, {"cpu": "150m"}))
    yield post(PODS, sized("d", {"cpu": "300m"}, {"cpu": "1"}))


def _claims() -> Iterator[Step]:
    yield post(RANGES, limits(bounds("PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"})))
    yield post(CLAIMS, claim("z", "1Mi", storageClassName="x"), until=403)
    yield post(CLAIMS, claim("a", "3Gi", storageClassName="x"))
    yield post(CLAIMS, claim("b", "1.5Gi", storageClassName="x"))
    yield patch(f"{CLAIMS}/b", {"metadata": {"labels": {"x": "y"}}})
    yield patch(f"{CLAIMS}/b", {"spec": {"resources": {"requests": {"storage": "9Gi"}}}})
    yield put(f"{RANGES}/l", limits(bounds("PersistentVolumeClaim", min={"storage": "5Gi"})))
    yield patch(f"{CLAIMS}/b", {"metadata": {"labels": {"x": "z"}}}, until=403)
    yield delete(f"{CLAIMS}/b")


def scenarios() -> list[Scenario]:
    return [
        scenario("limits-defaults", _defaults()),
        scenario("limits-filled", _filled()),
        scenario("limits-containers", _containers()),
        scenario("limits-pods", _pods()),
        scenario("limits-ratio", _ratio()),
        scenario("limits-claims", _claims()),
    ]
