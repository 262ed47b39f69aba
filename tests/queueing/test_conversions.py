"""Kueue's objects between v1beta1 and v1beta2: the names of each version, and nothing lost on the way and back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.queueing.conversions import NEW, OLD, convert
from jobrelay.queueing.conversions.kept import KEPT
from jobrelay.queueing.conversions.reviews import answer_conversion
from jobrelay.queueing.conversions.topology import with_domains, with_slices

names = st.sampled_from(["a", "b", "team-1"])
labels = st.text("ab", min_size=1, max_size=5)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


def objects(
    kind: str, version: str, spec: st.SearchStrategy[Any], status: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    metadata = st.fixed_dictionaries({"name": names}, optional={"annotations": st.just({"mine": "1"})})
    head = {"apiVersion": st.just(f"kueue.x-k8s.io/{version}"), "kind": st.just(kind), "metadata": metadata}
    return st.fixed_dictionaries(head, optional={"spec": spec, "status": status})


@st.composite
def assignments(draw: st.DrawFn) -> dict[str, Any]:
    """Topology assignments of v1beta1."""
    levels = draw(st.lists(labels, min_size=1, max_size=3, unique=True))
    values = st.lists(labels, min_size=len(levels), max_size=len(levels))
    domain = st.fixed_dictionaries({"values": values, "count": st.integers(1, 3)})
    return {"levels": levels, "domains": draw(st.lists(domain, max_size=5))}


def admitted(assignment: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    sets = st.lists(some(name=names, topologyAssignment=assignment), max_size=2)
    return some(clusterQueue=names, podSetAssignments=sets)


fungibility = some(
    whenCanBorrow=st.sampled_from(["MayStopSearch", "TryNextFlavor"]), preference=st.just("BorrowingOverPreemption")
)
strategy = st.fixed_dictionaries({"admissionChecks": st.lists(some(name=names), min_size=1, max_size=2)})
gates = st.lists(some(name=names), max_size=2)
usage = st.lists(some(name=names), max_size=2)
kube_config = st.fixed_dictionaries({"location": names, "locationType": st.just("Secret")})
profile = st.fixed_dictionaries({"name": names})
topology_request = some(required=names, podsetSliceRequiredTopologyConstraints=gates)


@st.composite
def pod_sets(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = draw(st.lists(names, max_size=2, unique=True))
    return [{"name": name, **draw(some(topologyRequest=topology_request))} for name in found]


new_objects = st.one_of(
    objects(
        "ClusterQueue",
        NEW,
        some(
            cohortName=names,
            admissionChecksStrategy=strategy,
            flavorFungibility=fungibility,
            concurrentAdmissionPolicy=some(migration=some(mode=names)),
        ),
        some(pendingWorkloads=st.integers(0, 3), fairSharing=some(weightedShare=st.integers(0, 3))),
    ),
    objects("LocalQueue", NEW, some(clusterQueue=names), some(flavorsUsage=usage, flavorsReservation=usage)),
    objects(
        "Workload",
        NEW,
        some(
            queueName=names,
            podSets=pod_sets(),
            preemptionGates=gates,
            priorityClassRef=st.one_of(
                st.just({"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}),
                st.just({"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}),
            ),
        ),
        some(
            admission=admitted(assignments().map(with_slices)),
            accumulatedPastExecutionTimeSeconds=st.integers(0, 9),
            preemptionGates=gates,
        ),
    ),
    objects(
        "MultiKueueCluster",
        NEW,
        some(
            clusterSource=st.one_of(
                st.fixed_dictionaries({"kubeConfig": kube_config}),
                st.fixed_dictionaries({"clusterProfileRef": profile}),
            )
        ),
        some(conditions=st.just([])),
    ),
    objects("ResourceFlavor", NEW, some(nodeLabels=st.just({"a": "b"})), some()),
)
old_objects = st.one_of(
    objects(
        "ClusterQueue",
        OLD,
        some(cohort=names, admissionChecksStrategy=strategy, flavorFungibility=fungibility),
        some(pendingWorkloads=st.integers(0, 3)),
    ),
    objects("LocalQueue", OLD, some(clusterQueue=names), some(flavorUsage=usage, flavorsReservation=usage)),
    objects(
        "Workload",
        OLD,
        st.one_of(
            some(queueName=names),
            st.fixed_dictionaries(
                {
                    "priorityClassName": names,
                    "priorityClassSource": st.sampled_from(
                        ["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass"]
                    ),
                }
            ),
        ),
        some(admission=admitted(assignments()), accumulatedPastExexcutionTimeSeconds=st.integers(0, 9)),
    ),
    objects("MultiKueueCluster", OLD, st.fixed_dictionaries({"kubeConfig": kube_config}), some()),
)


@given(new_objects)
def test_v1beta2_seen_as_v1beta1_and_written_again_loses_nothing(obj: dict[str, Any]) -> None:
    assert convert(convert(obj, OLD), NEW) == obj


@given(old_objects)
def test_v1beta1_stored_as_v1beta2_and_read_again_loses_nothing(obj: dict[str, Any]) -> None:
    assert convert(convert(obj, NEW), OLD) == obj


@given(assignments())
def test_a_topology_assignment_has_the_same_domains_in_either_version(assignment: dict[str, Any]) -> None:
    assert with_domains(with_slices(assignment)) == assignment


@given(new_objects)
def test_an_object_is_not_changed_by_its_conversion(obj: dict[str, Any]) -> None:
    before = msgspec.json.encode(obj)
    convert(obj, OLD)
    assert msgspec.json.encode(obj) == before


def seen(kind: str, version: str, spec: dict[str, Any], status: dict[str, Any] | None = None) -> tuple[Any, Any]:
    """Spec and status of an object in the other version."""
    other = NEW if version == OLD else OLD
    obj = {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    made = convert(obj | {"status": status or {}}, other)
    assert made["apiVersion"] == f"kueue.x-k8s.io/{other}"
    return made["spec"], made["status"]


def test_a_cluster_queue_has_the_names_and_values_of_v1beta2() -> None:
    fungibility = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
    spec, _ = seen("ClusterQueue", OLD, {"cohort": "a", "admissionChecks": ["x"], "flavorFungibility": fungibility})
    assert spec == {
        "cohortName": "a",
        "admissionChecksStrategy": {"admissionChecks": [{"name": "x"}]},
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
    }


def test_statuses_that_nobody_writes_any_more_are_dropped() -> None:
    _, status = seen("ClusterQueue", OLD, {}, {"pendingWorkloadsStatus": {}, "pendingWorkloads": 1})
    assert status == {"pendingWorkloads": 1}
    _, status = seen("LocalQueue", OLD, {}, {"flavors": [], "flavorUsage": []})
    assert status == {"flavorsUsage": []}


def test_a_workload_names_its_priority_class_by_group_and_kind_in_v1beta2() -> None:
    old = {"priorityClassName": "high", "priorityClassSource": "scheduling.k8s.io/priorityclass"}
    spec, _ = seen("Workload", OLD, old)
    assert spec == {"priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}}
    assert seen("Workload", OLD, {"priorityClassSource": ""})[0] == {}


def test_hosts_with_common_parts_are_one_slice() -> None:
    domains = [{"values": ["r", "n1x"], "count": 2}, {"values": ["r", "n2x"], "count": 1}]
    assert with_slices({"levels": ["rack", "host"], "domains": domains})["slices"] == [
        {
            "domainCount": 2,
            "podCounts": {"individual": [2, 1]},
            "valuesPerLevel": [
                {"universal": "r"},
                {"individual": {"prefix": "n", "suffix": "x", "roots": ["1", "2"]}},
            ],
        }
    ]


def test_a_cluster_by_profile_has_an_empty_kubeconfig_in_v1beta1() -> None:
    spec, _ = seen("MultiKueueCluster", NEW, {"clusterSource": {"clusterProfileRef": {"name": "p"}}})
    assert spec == {"clusterProfileRef": {"name": "p"}, "kubeConfig": {"location": "", "locationType": "Secret"}}


@pytest.mark.parametrize("text", ["no json", "[]", '{".spec.concurrentAdmissionPolicy": 5}'])
def test_an_annotation_that_somebody_else_wrote_adds_no_fields(text: str) -> None:
    obj = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "spec": {}}
    obj |= {"metadata": {"name": "a", "annotations": {KEPT: text}}}
    assert convert(obj, NEW)["spec"] == {}


def test_a_review_is_answered_with_all_its_objects_in_the_wanted_version() -> None:
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "spec": {"cohortName": "a"}}
    request = {"uid": "7", "desiredAPIVersion": "kueue.x-k8s.io/v1beta1", "objects": [queue, queue]}
    answer = msgspec.json.decode(answer_conversion(msgspec.json.encode({"request": request})))["response"]
    assert (answer["uid"], answer["result"]) == ("7", {"status": "Success"})
    assert [each["spec"] for each in answer["convertedObjects"]] == [{"cohort": "a"}] * 2


def test_other_groups_are_not_converted() -> None:
    request = {"uid": "7", "desiredAPIVersion": "batch/v1", "objects": []}
    with pytest.raises(ValueError, match="objects of batch/v1 are not converted here"):
        answer_conversion(msgspec.json.encode({"request": request}))
