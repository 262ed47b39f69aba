"""Copies of what workloads name: made where it is allowed, shared, renewed, removed, and never somebody else's."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kube import Object, merge_patch
from jobrelay.kube.fault_injection import AnswerStatus, Delay, Hang
from jobrelay.kube.resource import CONFIGMAPS, EVENTS, JOBS, SECRETS, SERVICEACCOUNTS
from jobrelay.relay.copy_rules import COPYABLE, CopyRuleError, CopyRules, parse_rules
from jobrelay.relay.dependencies.copies import COPY, RESOURCES, SOURCE
from jobrelay.relay.dependencies.renaming import COPIES
from jobrelay.workloads import JobAdapter, ObjectName, Reference
from jobrelay.workloads.names import ORIGIN, PROOF
from jobrelay.workloads.references import PRIORITYCLASSES
from tests.relay.fleets import Fleet, fleet
from tests.relay.test_dependencies import explained, placed, put, template, waits

ALL = parse_rules(["ConfigMap", "Secret:default", "ServiceAccount"])
BRIEF: dict[str, Any] = {"copy_grace": 0.4, "keep_finished": 0.0}


async def copies(it: Fleet, worker: str = "worker-1") -> list[Object]:
    """What is marked as a copy on a worker."""
    client, found = it.on(worker), []
    for resource in (CONFIGMAPS, SECRETS, SERVICEACCOUNTS):
        found += (await client.list(resource, "default", label_selector=COPY)).items
    return found


async def no_copies(it: Fleet) -> bool:
    return not await copies(it)


def env_of(mirror: Object) -> dict[str, str]:
    env = mirror.decode()["spec"]["template"]["spec"]["containers"][0]["envFrom"]
    return {kind: ref["name"] for each in env for kind, ref in each.items()}


async def test_what_is_missing_is_copied_and_the_mirror_names_the_copies() -> None:
    async with fleet(1, copies=ALL) as it:
        await put(it, "home", settings="fast", token="secret")
        await it.submit(template=template(seconds=1000))
        await it.runs()
        settings, token = await copies(it)
        assert settings.decode()["data"] == {"mode": "fast"}
        assert settings.decode()["immutable"] is True
        assert settings.name.startswith("settings-")
        assert settings.metadata.annotations[SOURCE] == "settings"
        assert token.decode()["data"] == {"key": "c2VjcmV0"}
        mirror = (await it.mirrors())["worker-1"]
        assert env_of(mirror) == {"configMapRef": settings.name, "secretRef": token.name}
        assert mirror.metadata.generation == 1
        original = await it.client.get(JOBS, "train", "default")
        assert env_of(original) == {"configMapRef": "settings", "secretRef": "token"}


async def test_jobs_share_a_copy_and_a_changed_source_gives_new_ones_another() -> None:
    async with fleet(1, copies=ALL) as it:
        await put(it, "home", settings="1", token="t")
        for name in ("one", "two"):
            await it.submit(name, template=template(seconds=1000))
            await it.runs(name)
        assert len(await copies(it)) == 2
        first = await it.mirrors("one")
        await it.client.patch(CONFIGMAPS, "settings", merge_patch({"data": {"mode": "2"}}), "default")
        await it.kill()
        await it.start()
        await it.submit("three", template=template(seconds=1000))
        await it.runs("three")
        found = [each.decode()["data"] for each in await copies(it)]
        assert sorted(data["mode"] for data in found if "mode" in data) == ["1", "2"]
        now = await it.mirrors("one")
        assert now["worker-1"].decode()["spec"] == first["worker-1"].decode()["spec"]


async def test_a_copy_goes_with_its_last_user() -> None:
    async with fleet(1, copies=ALL, **BRIEF) as it:
        await put(it, "home", token="t")
        await it.submit("short", template=template())
        await it.submit("long", template=template(seconds=1000))
        await it.runs("long")
        await it.finished("short")
        await it.until(lambda: gone(it, "short"))
        assert len(await copies(it)) == 2
        await it.client.delete(JOBS, "long", "default", propagation="Background")
        await it.until(lambda: no_copies(it))
        assert [each.name for each in (await it.client.list(CONFIGMAPS, "default")).items if each.name == "settings"]


async def gone(it: Fleet, name: str) -> bool:
    return not await it.mirrors(name)


async def test_what_a_worker_has_itself_is_used_and_not_copied() -> None:
    async with fleet(1, copies=ALL) as it:
        await put(it, "home", "worker-1", token="t")
        await it.submit(template=template(seconds=1000))
        await it.runs()
        assert await copies(it) == []
        assert COPIES not in (await it.mirrors())["worker-1"].metadata.annotations


async def test_secrets_are_copied_only_if_they_are_named() -> None:
    async with fleet(1, copies=parse_rules(["ConfigMap"])) as it:
        await put(it, "home", token="t")
        await it.submit(template=template())
        found = await it.until(lambda: waits(it))
        assert found.workers[0].sentence == "lacks Secret default/token"
        assert await copies(it) == []


async def test_objects_of_other_namespaces_are_not_copied() -> None:
    async with fleet(1, copies=parse_rules(["ConfigMap:team-a", "Secret:default"])) as it:
        await put(it, "home", token="t")
        await it.submit(template=template())
        found = await it.until(lambda: waits(it))
        assert found.workers[0].sentence == "lacks ConfigMap default/settings"


async def test_what_is_nowhere_is_said_to_be_nowhere() -> None:
    async with fleet(1, copies=ALL) as it:
        await put(it, "home")
        await it.submit(template=template())
        found = await it.until(lambda: waits(it))
        assert found.workers[0].sentence == "lacks Secret default/token (not on the management cluster either)"


async def test_what_is_optional_is_copied_if_it_can_be_and_not_missed() -> None:
    async with fleet(1, copies=ALL) as it:
        await put(it, "home")
        await it.submit(template=template(optional=True, seconds=1000))
        await it.runs()
        (settings,) = await copies(it)
        assert env_of((await it.mirrors())["worker-1"]) == {"configMapRef": settings.name, "secretRef": "token"}


async def test_a_service_account_is_made_under_its_own_name_and_goes_with_its_users() -> None:
    async with fleet(1, copies=ALL, **BRIEF) as it:
        account = {"metadata": {"name": "runner", "namespace": "default"}, "automountServiceAccountToken": False}
        await it.client.create(SERVICEACCOUNTS, account)
        pods = template(seconds=1000, serviceAccountName="runner")
        pods["spec"]["containers"][0].pop("envFrom")
        await it.submit("one", template=pods)
        await it.runs("one")
        (made,) = await copies(it)
        assert (made.name, made.decode().get("automountServiceAccountToken")) == ("runner", False)
        await it.kill()
        await it.start()
        await it.submit("two", template=pods)
        await it.runs("two")
        await it.client.delete(JOBS, "one", "default", propagation="Background")
        await it.until(lambda: gone(it, "one"))
        assert COPIES in (await it.mirrors("two"))["worker-1"].metadata.annotations
        await it.client.delete(JOBS, "two", "default", propagation="Background")
        await it.until(lambda: no_copies(it))


async def test_an_object_of_the_same_name_with_other_contents_is_neither_used_nor_removed() -> None:
    async with fleet(1, copies=ALL, **BRIEF) as it:
        await put(it, "home", token="t")
        await it.submit("one", template=template(seconds=1000))
        await it.runs("one")
        real = next(each for each in await copies(it) if each.name.startswith("settings"))
        await it.kill()
        await it.on("worker-1").delete(CONFIGMAPS, real.name, "default")
        forged = real.decode() | {"data": {"mode": "evil"}}
        copied = ("name", "namespace", "labels", "annotations")
        forged["metadata"] = {key: real.decode()["metadata"][key] for key in copied}
        await it.on("worker-1").create(CONFIGMAPS, forged)
        await it.start()
        await it.submit("two", template=template())
        await it.until(lambda: told(it, "CopyFailed"))
        assert await gone(it, "two")
        for name in ("one", "two"):
            await it.client.delete(JOBS, name, "default", propagation="Background")
        await it.until(lambda: only(it, {real.name}))
        assert (await it.on("worker-1").get(CONFIGMAPS, real.name, "default")).decode()["data"] == {"mode": "evil"}


async def told(it: Fleet, reason: str) -> bool:
    return any(each.decode()["reason"] == reason for each in (await it.client.list(EVENTS)).items)


async def test_labels_and_a_proof_from_elsewhere_do_not_have_an_object_removed() -> None:
    async with fleet(1, copies=ALL, **BRIEF) as it:
        await put(it, "home", token="t")
        await it.submit(template=template(seconds=1000))
        await it.runs()
        real = (await copies(it))[0]
        marks = {"labels": real.metadata.labels, "annotations": real.metadata.annotations}
        for name, more in (("precious", marks), ("labelled", {"labels": {ORIGIN: "tests", COPY: "true"}})):
            body = {"metadata": {"name": name, "namespace": "default", **more}, "data": {"a": "b"}}
            await it.on("worker-1").create(CONFIGMAPS, body)
        await it.kill()
        await it.start()
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        await it.until(lambda: only(it, {"precious", "labelled"}))


async def only(it: Fleet, names: set[str]) -> bool:
    return {each.name for each in await copies(it)} == names


async def test_a_crash_between_copy_and_mirror_leaves_nothing() -> None:
    async with fleet(1, copies=ALL, **BRIEF) as it:
        await put(it, "home", token="t")
        it.links["worker-1"].add(Hang(), "POST *jobs[?]fieldManager=jobrelay", times=None)
        await it.submit(template=template())
        await it.until(lambda: copied(it, 2))
        await it.kill()
        it.links["worker-1"].clear()
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        await it.start()
        await it.until(lambda: no_copies(it))


async def copied(it: Fleet, number: int) -> bool:
    return len(await copies(it)) == number


async def test_the_copies_of_another_relay_are_not_touched() -> None:
    async with fleet(1, copies=ALL, **BRIEF) as it:
        metadata = {"name": "settings-0a1b2c3d4e", "namespace": "default"}
        marks = {"labels": {ORIGIN: "others", COPY: "true"}, "annotations": {SOURCE: "settings", PROOF: "v1.x"}}
        await it.on("worker-1").create(CONFIGMAPS, {"metadata": metadata | marks, "data": {}})
        await put(it, "home", token="t")
        await it.submit(template=template())
        await it.finished()
        await it.until(lambda: only(it, {"settings-0a1b2c3d4e"}))


async def test_a_copy_that_a_worker_refuses_is_told_and_another_worker_is_used() -> None:
    async with fleet(2, copies=ALL) as it:
        await put(it, "home", token="t")
        it.links["worker-1"].add(AnswerStatus(403, "Forbidden", "exceeded quota"), "POST *configmaps*", times=None)
        await it.submit(template=template(), annotations={"jobrelay.dev/preferred-clusters": "worker-1"})
        await it.finished()
        assert await it.place() == "worker-2"
        assert await told(it, "CopyFailed")


async def test_a_job_that_is_deleted_while_its_dependencies_are_copied_gets_no_mirror() -> None:
    async with fleet(1, copies=ALL, **BRIEF) as it:
        await put(it, "home", token="t")
        it.links["worker-1"].add(Delay(1.0), "POST *secrets*")
        await it.submit(template=template(seconds=1000))
        await it.until(lambda: copied(it, 1))
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        await it.until(lambda: copied(it, 2))
        await it.until(lambda: no_copies(it))
        assert await gone(it, "train")


async def test_a_job_that_moves_while_its_dependencies_are_copied_gets_its_mirror_there() -> None:
    async with fleet(2, copies=ALL) as it:
        await put(it, "home", token="t")
        it.links["worker-1"].add(Delay(1.0), "POST *secrets*")
        clusters = {"jobrelay.dev/clusters": "worker-1"}
        await it.submit(template=template(seconds=1000), annotations=clusters)
        await it.until(lambda: copied(it, 1))
        change = {"metadata": {"annotations": {"jobrelay.dev/clusters": "worker-2"}}}
        await it.client.patch(JOBS, "train", merge_patch(change), "default")
        assert await it.runs() == "worker-2"
        await it.until(lambda: copied(it, 2))
        await it.submit("next", template=template(), annotations=clusters)
        await it.finished("next")
        events = [each.decode() for each in (await it.client.list(EVENTS)).items]
        created = [each["note"] for each in events if each["reason"] == "MirrorCreated"]
        assert sorted(created) == ["Mirror created on worker-1", "Mirror created on worker-2"]
        assert list(await it.mirrors()) == ["worker-2"]


async def test_changes_are_forwarded_to_a_mirror_that_uses_copies_and_nothing_else_is_changed() -> None:
    async with fleet(1, copies=ALL) as it:
        await put(it, "home", token="t")
        await it.submit(template=template(seconds=1000))
        await it.runs()
        before = (await it.mirrors())["worker-1"]
        await it.client.patch(JOBS, "train", merge_patch({"spec": {"parallelism": 0}}), "default")
        await it.until(lambda: generation(it, 2))
        now = (await it.mirrors())["worker-1"]
        assert now.decode()["spec"] == before.decode()["spec"] | {"parallelism": 0}


async def generation(it: Fleet, number: int) -> bool:
    return (await it.mirrors())["worker-1"].metadata.generation == number


async def test_what_was_copied_is_explained_and_counted() -> None:
    async with fleet(1, copies=ALL, **BRIEF) as it:
        await put(it, "home", token="t")
        await it.submit(template=template(seconds=1000))
        await it.runs()
        settings, token = await copies(it)
        found = explained(it)
        assert found is not None
        assert [(each.object, dict(each.copies)) for each in found.dependencies] == [
            ("ConfigMap default/settings", {"worker-1": settings.name}),
            ("Secret default/token", {"worker-1": token.name}),
        ]
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        await it.until(lambda: no_copies(it))
        assert it.relay is not None
        sample = it.relay.metrics.registry.get_sample_value

        async def counted() -> bool:
            """A removal is counted when it has been answered."""
            counts = [
                sample("jobrelay_copies_total", {"worker": "worker-1", "kind": kind, "result": result})
                for kind in ("ConfigMap", "Secret")
                for result in ("created", "removed")
            ]
            return counts == [1, 1, 1, 1]

        await it.until(counted)


async def test_what_another_object_names_is_not_copied_since_it_could_not_be_renamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = Reference(CONFIGMAPS, "deep", "default")
    monkeypatch.setattr(JobAdapter, "references", lambda self, original, found=None: (named,))
    async with fleet(1, copies=ALL) as it:
        await it.client.create(CONFIGMAPS, {"metadata": {"name": "deep", "namespace": "default"}})
        await it.submit()
        found = await it.until(lambda: waits(it))
        assert found.workers[0].sentence == "lacks ConfigMap default/deep (not copied, since another object names it)"


async def test_the_management_cluster_as_its_own_worker_gets_no_copies() -> None:
    async with fleet(1, start=False, copies=ALL) as it:
        await it.be_own_worker("worker-1")
        await it.start()
        await put(it, "home", token="t")
        await it.submit(template=template())
        await it.until(lambda: placed(it))
        assert not (await it.client.list(CONFIGMAPS, "default", label_selector=COPY)).items


# Rules


def test_rules_know_the_names_of_the_kinds_that_are_copied() -> None:
    assert {kind: str(resource) for kind, resource in RESOURCES.items()} == COPYABLE


def test_rules_name_kinds_and_namespaces() -> None:
    rules = parse_rules(["ConfigMap", "Secret:a, b", "Secret:c"])
    assert rules == CopyRules({"ConfigMap": None, "Secret": frozenset("abc")})
    assert rules.allow(ObjectName(CONFIGMAPS, "x", "n"))
    assert rules.allow(ObjectName(SECRETS, "c", "n"))
    assert not rules.allow(ObjectName(SECRETS, "x", "n"))
    assert not rules.allow(ObjectName(PRIORITYCLASSES, "", "n"))
    assert not CopyRules()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Secret", "only from namespaces that are named"),
        ("Secret:*", "not a list of namespaces"),
        ("*", "'\\*' cannot be copied"),
        ("PersistentVolumeClaim", "cannot be copied; these can: ConfigMap, Secret"),
        ("PriorityClass", "cannot be copied"),
        ("ConfigMap:", "not a list of namespaces"),
        ("ClusterTrainingRuntime:a", "is in no namespace"),
    ],
)
def test_rules_that_cannot_be_read_say_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(CopyRuleError, match=problem):
        parse_rules([text])
