"""Objects that workloads name: which workers have them, and what becomes of a workload where they are missing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from jobrelay.kube import FakeClock, Object
from jobrelay.kube.fault_injection import AnswerStatus, Delay
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import CONFIGMAPS, EVENTS, SECRETS
from jobrelay.relay.dependencies.answers import Answer, DependencyAnswers, Presence
from jobrelay.relay.dependencies.texts import listed
from jobrelay.relay.explain import Explanation
from jobrelay.relay.original_decision import CommitAssignment, ProbeWorker, Stage
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads import NOTHING_FOUND, FieldPath, Found, JobAdapter, ObjectName, Reference
from tests.relay.fleets import AnyCluster, Fleet, fleet
from tests.relay.snapshots import NOW, job, snapshot, worker

SETTINGS = ObjectName(CONFIGMAPS, "team", "settings")
TOKEN = ObjectName(SECRETS, "team", "token")


def template(*, optional: bool = False, seconds: float = 0, **more: Any) -> dict[str, Any]:
    """A pod template that names the ConfigMap `settings` and the Secret `token`; its pods run for some seconds."""
    may = {"optional": True} if optional else {}
    env = [{"configMapRef": {"name": "settings"} | may}, {"secretRef": {"name": "token"} | may}]
    containers = [{"name": "main", "image": "busybox", "envFrom": env}]
    metadata = {"annotations": {"jobrelay.dev/run-seconds": str(seconds)}}
    return {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": containers, **more}}


def answers(presence: Presence, seconds: float = 30, detail: str = "") -> dict[ObjectName, Answer]:
    known = Answer(presence, NOW + timedelta(seconds=seconds), detail)
    return {SETTINGS: known, TOKEN: known}


ORIGINAL = job(template=template())
BOTH = [worker("a"), worker("b")]


def test_a_worker_is_asked_before_it_gets_the_workload_although_it_has_accepted_such_ones() -> None:
    decision = reconcile_original(snapshot(ORIGINAL, [worker("a")]))
    assert (decision.stage, decision.action) == (Stage.PROBING, ProbeWorker("a"))


def test_a_workload_that_names_nothing_asks_for_nothing() -> None:
    assert isinstance(reconcile_original(snapshot(job(), [worker("a")])).action, CommitAssignment)


def test_a_workload_whose_references_are_optional_asks_for_nothing() -> None:
    original = job(template=template(optional=True))
    assert isinstance(reconcile_original(snapshot(original, [worker("a")])).action, CommitAssignment)


def test_it_goes_where_everything_is() -> None:
    known = {"a": answers(Presence.MISSING), "b": answers(Presence.PRESENT)}
    decision = reconcile_original(snapshot(ORIGINAL, BOTH, answers=known))
    assert isinstance(decision.action, CommitAssignment)
    assert decision.action.assignment.cluster == "b"


def test_missing_everywhere_it_waits_and_the_verdict_names_the_objects() -> None:
    known = {each.name: answers(Presence.MISSING, 7) for each in BOTH}
    decision = reconcile_original(snapshot(ORIGINAL, BOTH, answers=known))
    assert (decision.stage, decision.action, decision.requeue_after) == (Stage.PLACING, None, 7)
    assert "a: lacks ConfigMap team/settings and Secret team/token" in decision.sentence
    assert decision.placement is not None
    assert decision.placement.lacking == ("a", "b")


def test_while_it_waits_a_worker_is_asked_again_and_lacks_them_until_it_has_answered() -> None:
    known = {"a": answers(Presence.MISSING), "b": answers(Presence.MISSING, 0)}
    decision = reconcile_original(snapshot(ORIGINAL, BOTH, answers=known))
    assert (decision.stage, decision.action) == (Stage.PLACING, ProbeWorker("b"))
    assert "b: lacks" in decision.sentence


def test_a_worker_that_does_not_answer_is_not_asked_again() -> None:
    known = {each: answers(Presence.MISSING, 0) for each in ("a", "b")}
    decision = reconcile_original(snapshot(ORIGINAL, [worker("a", lost=5), worker("b")], answers=known))
    assert decision.action == ProbeWorker("b")


def test_what_cannot_be_checked_does_not_keep_a_worker_from_being_used() -> None:
    known = {"a": answers(Presence.UNCHECKED, detail="the relay may not get secrets")}
    assert isinstance(reconcile_original(snapshot(ORIGINAL, [worker("a")], answers=known)).action, CommitAssignment)


def test_what_can_be_copied_is_as_good_as_there_unless_another_object_names_it() -> None:
    known = {"a": answers(Presence.COPYABLE)}
    original = snapshot(ORIGINAL, [worker("a")], answers=known)
    assert isinstance(reconcile_original(original).action, CommitAssignment)
    fixed = replace(original, adapter=NamesByOthers())
    assert (
        "lacks ConfigMap team/settings (not copied, since another object names it)"
        in reconcile_original(fixed).sentence
    )


class NamesByOthers(JobAdapter):
    """Jobs that name objects by others only."""

    def pod_templates(self, obj: Object) -> list[tuple[FieldPath, Mapping[str, Any]]]:
        return []

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        return tuple(Reference(each.resource, each.name, each.namespace) for each in (SETTINGS, TOKEN))


def test_an_old_answer_that_all_is_there_is_asked_again() -> None:
    known = {"a": answers(Presence.PRESENT, -1)}
    assert reconcile_original(snapshot(ORIGINAL, [worker("a")], answers=known)).action == ProbeWorker("a")


def test_an_answer_from_before_the_clock_was_put_back_is_asked_again() -> None:
    known = {"a": answers(Presence.MISSING, 3600)}
    assert reconcile_original(snapshot(ORIGINAL, [worker("a")], answers=known)).action == ProbeWorker("a")


def test_workloads_with_other_dependencies_wait_in_another_group() -> None:
    other = job(template=template(serviceAccountName="runner"))
    assert snapshot(ORIGINAL).group == snapshot(job(template=template(), uid="u2")).group
    assert snapshot(ORIGINAL).group != snapshot(other).group
    assert snapshot(job()).group == snapshot(job()).demand.shape


def test_a_missing_object_is_asked_about_less_and_less_often_while_it_stays_missing() -> None:
    known, waits = DependencyAnswers(FakeClock(NOW), 5, 60), []
    for presence in [Presence.MISSING] * 6 + [Presence.PRESENT, Presence.MISSING]:
        known.record("a", SETTINGS, presence)
        waits.append((known.known["a"][SETTINGS].until - NOW).total_seconds())
    assert waits == [5, 10, 20, 40, 60, 60, 60, 5]


def test_the_answers_of_a_worker_are_bounded_and_go_with_it() -> None:
    known = DependencyAnswers(FakeClock(NOW), 5, 60)
    for number in range(5000):
        known.record("a", ObjectName(SECRETS, "team", f"s{number}"), Presence.PRESENT)
    assert len(known.known["a"]) == 4096
    assert ObjectName(SECRETS, "team", "s4999") in known.known["a"]
    known.forget_worker("a")
    assert not known.known


def test_of_many_objects_the_first_are_named() -> None:
    assert listed("a") == "a"
    assert listed("abc") == "a, b and c"
    assert listed("abcdefg") == "a, b, c, d, e and 2 more"


# In a fleet


def explained(it: Fleet, name: str = "train") -> Explanation | None:
    assert it.relay is not None
    return it.relay.explain(WorkloadRef("jobs.batch", Key("default", name)))


async def waits(it: Fleet, name: str = "train") -> Explanation | None:
    found = explained(it, name)
    return found if found is not None and found.stage == Stage.PLACING else None


async def put(it: Fleet, *clusters: str, settings: str = "1", token: str = "") -> None:
    """Create the ConfigMap, and with a `token` the Secret, on workers or on the management cluster (`home`)."""
    for each in clusters:
        client = it.client if each == "home" else it.on(each)
        body: dict[str, Any] = {"metadata": {"name": "settings", "namespace": "default"}, "data": {"mode": settings}}
        await client.create(CONFIGMAPS, body)
        if token:
            secret = {"metadata": {"name": "token", "namespace": "default"}, "stringData": {"key": token}}
            await client.create(SECRETS, secret)


async def test_a_job_goes_to_the_worker_that_has_what_it_names() -> None:
    async with fleet(3) as it:
        await put(it, "worker-2", token="t")
        await it.submit(template=template())
        await it.finished()
        assert await it.place() == "worker-2"
        await it.submit("other", template=template())
        await it.finished("other")


async def test_a_job_waits_for_what_no_worker_has_and_runs_when_it_is_there() -> None:
    async with fleet(2, ask_missing=0.05, ask_again=0.2) as it:
        await it.submit(template=template())
        found: Explanation = await it.until(lambda: waits(it))
        assert {each.sentence for each in found.workers} == {
            "lacks ConfigMap default/settings and Secret default/token"
        }
        assert await it.mirrors() == {}
        await put(it, "worker-1", token="t")
        await it.finished()
        assert await it.place() == "worker-1"
        notes = [each.decode()["note"] for each in (await it.client.list(EVENTS)).items]
        assert any("lacks ConfigMap default/settings" in note for note in notes)


async def test_what_may_not_be_read_is_taken_to_be_there() -> None:
    async with fleet(1) as it:
        it.links["worker-1"].add(AnswerStatus(403, "Forbidden"), "GET *secrets/token", times=None)
        await put(it, "worker-1")
        await it.submit(template=template())
        await it.until(lambda: placed(it))


async def placed(it: Fleet) -> str:
    return await it.place()


async def test_what_an_object_contains_is_not_read_when_it_is_looked_for(any_cluster: AnyCluster) -> None:
    client = any_cluster.client()
    secret = {"metadata": {"name": "token", "namespace": "default"}, "stringData": {"key": "secret"}}
    await client.create(SECRETS, secret)
    found = await client.get_metadata(SECRETS, "token", "default")
    listed = await client.list_metadata(SECRETS, "default", field_selector="metadata.name=token")
    assert found.uid == listed.items[0].uid
    assert not any("data" in each.decode() for each in (found, *listed.items))
    await client.delete(SECRETS, "token", "default")


async def test_a_job_that_names_nothing_costs_no_further_request() -> None:
    async with fleet(1) as it:
        assert it.relay is not None
        calls = it.relay.metrics.calls
        before = _reads(calls)
        await it.submit()
        await it.finished()
        assert _reads(calls) == before


def _reads(calls: Any) -> dict[str, float]:
    """How often each cluster was asked for objects, apart from watches."""
    samples = [each for metric in calls.collect() for each in metric.samples if each.name.endswith("_total")]
    return {str(each.labels): each.value for each in samples if "GET" in each.labels.values()}


async def test_many_jobs_that_name_the_same_ask_once() -> None:
    async with fleet(1) as it:
        await put(it, "worker-1", token="t")
        link = it.links["worker-1"]
        link.add(Delay(0.0), "GET */configmaps/settings", times=None)
        for number in range(5):
            await it.submit(f"job-{number}", template=template())
        for number in range(5):
            await it.finished(f"job-{number}")
        assert link.injected == 1
