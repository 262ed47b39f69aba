"""What a mirror is made of, and what follows when its original or someone on the worker changes something."""

from __future__ import annotations

import pytest

from jobrelay.apimachinery.patch.merge import apply_merge_patch
from jobrelay.workloads import MirrorParameters
from jobrelay.workloads.names import EPOCH, KUEUE_ORIGIN, ORIGIN, ORIGIN_NAME, ORIGIN_UID
from tests.kinds.workloads import UID, create, update

from .jobs import ADAPTER, PARAMETERS, POD, T1, Obj, as_object, condition, job, mirror_of

GENERATED = {"job-name", "batch.kubernetes.io/job-name", "controller-uid", "batch.kubernetes.io/controller-uid"}
OURS = {"jobrelay.dev/origin": "manager", "kueue.x-k8s.io/multikueue-origin": "manager"}
LABELLED: Obj = {"metadata": {"labels": {"app": "a"}}, "spec": POD}

AFFINITY: Obj = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
]}}  # fmt: skip
CHANGE: Obj = {
    "spec": {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {"nodeAffinity": AFFINITY},
    },
    "metadata": {"labels": {"app": "b"}, "annotations": {"n": "1"}},
}


def mirror(original: Obj, parameters: MirrorParameters = PARAMETERS) -> Obj:
    return ADAPTER.mirror(as_object(original), parameters)


def forward(original: Obj, copy: Obj, parameters: MirrorParameters = PARAMETERS) -> Obj | None:
    """What is sent to the worker, which must take it."""
    patch = ADAPTER.mirror_patch(as_object(original), as_object(copy), parameters)
    if patch is not None:
        assert update("Job", copy, patch)[1] == []
    return patch


class TestMirror:
    def test_it_has_the_namespace_and_its_own_name(self) -> None:
        metadata = mirror(job(), MirrorParameters("manager", 1, "j-relay-1"))["metadata"]
        assert (metadata["namespace"], metadata["name"]) == ("n", "j-relay-1")

    def test_it_says_whose_it_is(self) -> None:
        metadata = mirror(job())["metadata"]
        assert metadata["labels"] == OURS
        assert metadata["annotations"] == {
            "jobrelay.dev/origin-uid": UID, "jobrelay.dev/origin-name": "j", "jobrelay.dev/epoch": "3",
        }  # fmt: skip

    def test_a_worker_takes_it_and_runs_it_itself(self) -> None:
        made, errors = create("Job", mirror(job(ttlSecondsAfterFinished=5)))
        assert errors == []
        assert not {"managedBy", "ttlSecondsAfterFinished"} & made["spec"].keys()

    def test_labels_that_came_from_the_template_are_kept_without_the_generated_ones(self) -> None:
        body = mirror(job(template=LABELLED))
        assert body["metadata"]["labels"] == {"app": "a"} | OURS
        assert body["spec"]["template"]["metadata"]["labels"] == {"app": "a"}

    def test_a_users_own_job_name_label_is_kept(self) -> None:
        original = job()
        original["metadata"]["labels"] = {"job-name": "nightly"}
        assert mirror(original)["metadata"]["labels"] == {"job-name": "nightly"} | OURS

    def test_annotations_of_kubectl_and_our_own_stay_behind(self) -> None:
        original = job()
        original["metadata"]["annotations"] = {
            "note": "1", "jobrelay.dev/assignment": "{}", "kubectl.kubernetes.io/last-applied-configuration": "{}",
        }  # fmt: skip
        assert mirror(original)["metadata"]["annotations"].keys() == {
            "note", "jobrelay.dev/origin-uid", "jobrelay.dev/origin-name", "jobrelay.dev/epoch",
        }  # fmt: skip

    def test_a_manual_selector_is_the_users(self) -> None:
        labels = {"job-name": "older", "controller-uid": "other"}
        selector = {"matchLabels": labels}
        template = {"metadata": {"labels": labels}, "spec": POD}
        spec = mirror(job(manualSelector=True, selector=selector, template=template))["spec"]
        assert (spec["selector"], spec["template"]["metadata"]["labels"]) == (selector, labels)

    def test_a_generated_selector_stays_behind(self) -> None:
        spec = mirror(job())["spec"]
        assert "selector" not in spec
        assert not GENERATED & spec["template"]["metadata"]["labels"].keys()

    def test_it_has_no_status_owner_or_finalizer(self) -> None:
        original = job({"active": 1})
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "u"}
        original["metadata"] |= {"finalizers": ["a/b"], "ownerReferences": [owner]}
        body = mirror(original)
        assert body.keys() == {"apiVersion", "kind", "metadata", "spec"}
        assert body["metadata"].keys() == {"name", "namespace", "labels", "annotations"}

    @pytest.mark.parametrize(("given", "wanted"), [(None, 100), (30, 30)])
    def test_a_lease_takes_the_place_of_the_deadline(self, given: int | None, wanted: int) -> None:
        body = mirror(job(activeDeadlineSeconds=100), MirrorParameters("manager", 1, "j", given))
        assert body["spec"]["activeDeadlineSeconds"] == wanted

    def test_it_is_suspended_if_the_relay_holds_it_back(self) -> None:
        assert mirror(job(), MirrorParameters("manager", 1, "j", 60, suspend=True))["spec"]["suspend"]


class TestForward:
    def test_a_fresh_mirror_is_in_line(self) -> None:
        for original in (job(), job(template=LABELLED, suspend=True), job(completionMode="Indexed", completions=3)):
            assert forward(original, mirror_of(original)) is None

    @pytest.mark.parametrize(
        "change",
        [
            {"suspend": True}, {"parallelism": 7}, {"backoffLimit": 0}, {"podReplacementPolicy": "Failed"},
            {"activeDeadlineSeconds": 9}, {"maxFailedIndexes": 1}, {"completions": 2, "parallelism": 2},
        ],
    )  # fmt: skip
    def test_what_a_user_changes(self, change: Obj) -> None:
        original = job(completionMode="Indexed", completions=3, parallelism=1, backoffLimitPerIndex=1)
        copy = mirror_of(original)
        original["spec"] |= change
        assert forward(original, copy) == {"spec": change}

    def test_what_a_user_takes_away(self) -> None:
        original = job(activeDeadlineSeconds=100)
        copy = mirror_of(original)
        del original["spec"]["activeDeadlineSeconds"]
        assert forward(original, copy) == {"spec": {"activeDeadlineSeconds": None}}

    def test_what_someone_changed_on_the_worker_is_restored(self) -> None:
        original = job()
        copy = mirror_of(original, suspend=True, parallelism=9)
        copy["metadata"]["labels"] |= {"jobrelay.dev/origin": "other", "theirs": "1"}
        del copy["metadata"]["annotations"]["jobrelay.dev/epoch"]
        assert forward(original, copy) == {
            "metadata": {
                "labels": {ORIGIN: "manager", KUEUE_ORIGIN: "manager"},
                "annotations": {ORIGIN_UID: UID, ORIGIN_NAME: "j", EPOCH: "3"},
            },
            "spec": {"suspend": False, "parallelism": 1},
        }

    def test_a_default_of_the_worker_is_not_fought(self) -> None:
        original = job()
        copy = mirror_of(original)
        del original["spec"]["podReplacementPolicy"]
        assert forward(original, copy) is None

    def test_a_lease_is_renewed(self) -> None:
        original = job(activeDeadlineSeconds=100)
        assert forward(original, mirror_of(original), MirrorParameters("manager", 3, "j", 60)) == {
            "spec": {"activeDeadlineSeconds": 60}
        }

    def test_a_mirror_that_is_held_back_stays_as_it_is_until_it_is_released(self) -> None:
        original = job(template=LABELLED)
        copy = mirror_of(original, suspend=True, activeDeadlineSeconds=60)
        original["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
        assert forward(original, copy, MirrorParameters("manager", 3, "j", 60, suspend=True)) is None
        assert forward(original, copy, MirrorParameters("manager", 3, "j", 60)) == {
            "spec": {"suspend": False, "template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}
        }

    def test_scaling_completions_and_then_parallelism_takes_two_steps(self) -> None:
        original = job(completionMode="Indexed", completions=3, parallelism=3)
        copy = mirror_of(original)
        original["spec"] |= {"completions": 5, "parallelism": 2}
        assert forward(original, copy) == {"spec": {"completions": 5, "parallelism": 5}}
        copy["spec"] |= {"completions": 5, "parallelism": 5}
        assert forward(original, copy) == {"spec": {"parallelism": 2}}


class TestTemplate:
    """Scheduling directives of a suspended Job that has never started."""

    def test_they_follow(self) -> None:
        original = job(template=LABELLED, suspend=True)
        copy = mirror_of(original)
        original["spec"]["template"] = apply_merge_patch(original["spec"]["template"], CHANGE)
        assert forward(original, copy) == {"spec": {"template": CHANGE}}

    def test_they_follow_when_taken_away(self) -> None:
        original = job(template=apply_merge_patch(LABELLED, CHANGE), suspend=True)
        copy = mirror_of(original)
        for name in ("nodeSelector", "affinity"):
            del original["spec"]["template"]["spec"][name]
        assert forward(original, copy) == {
            "spec": {"template": {"spec": {"nodeSelector": None, "affinity": {"nodeAffinity": None}}}}
        }

    @pytest.mark.parametrize(("suspend", "start"), [(False, None), (True, T1)])
    def test_not_once_the_mirror_is_running_or_has_run(self, suspend: bool, start: str | None) -> None:
        original = job(template=LABELLED, suspend=suspend)
        copy = mirror_of(original, {"startTime": start} if start else {"conditions": [condition("Suspended")]})
        original["spec"]["template"] = apply_merge_patch(original["spec"]["template"], CHANGE)
        assert forward(original, copy) is None
