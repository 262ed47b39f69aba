"""Replacing objects: who wins, what cannot change, and what changes nothing."""

from __future__ import annotations

from .serving import CONFIGMAPS, JOBS, Server, config, job


async def test_the_version_that_was_read_must_still_be_there(server: Server) -> None:
    read = await server.ok("POST", CONFIGMAPS, config())
    await server.ok("PUT", f"{CONFIGMAPS}/a", {**read, "data": {"k": "1"}})
    answer = await server.call("PUT", f"{CONFIGMAPS}/a", {**read, "data": {"k": "2"}})
    assert (answer.code, answer.reason) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to '
        "the latest version and try again"
    )


async def test_without_a_version_the_last_writer_wins(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config(k="1"))
    assert (await server.ok("PUT", f"{CONFIGMAPS}/a", config(k="2")))["data"] == {"k": "2"}


async def test_some_kinds_need_a_version(server: Server) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    await server.ok("POST", path, {"metadata": {"name": "l"}})
    answer = await server.call("PUT", f"{path}/l", {"metadata": {"name": "l"}})
    assert (
        answer.code,
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in answer.message,
    ) == (422, True)


async def test_another_uid_is_another_object(server: Server) -> None:
    made = await server.ok("POST", CONFIGMAPS, config())
    sent = config()
    sent["metadata"]["uid"] = "u"
    answer = await server.call("PUT", f"{CONFIGMAPS}/a", sent)
    assert answer.code == 409
    assert answer.message.endswith(f"UID in precondition: u, UID in object meta: {made['metadata']['uid']}")


async def test_an_update_of_nothing_keeps_the_version_and_is_no_event(server: Server) -> None:
    made = await server.ok("POST", CONFIGMAPS, config(k="v"))
    watcher = await server.watch(f"{CONFIGMAPS}?resourceVersion={made['metadata']['resourceVersion']}")
    again = await server.ok("PUT", f"{CONFIGMAPS}/a", made)
    await server.settle()
    assert (again, watcher.events) == (made, [])


async def test_the_name_in_the_body_is_the_one_in_the_path(server: Server) -> None:
    answer = await server.call("PUT", f"{CONFIGMAPS}/b", config("a"))
    assert (answer.code, answer.message) == (400, "the name of the object (a) does not match the name on the URL (b)")
    answer = await server.call("PUT", f"{CONFIGMAPS}/b", {})
    assert "(b based on URL) was undeterminable: name must be provided" in answer.message


async def test_only_some_kinds_are_created_by_an_update(server: Server) -> None:
    assert (await server.call("PUT", f"{CONFIGMAPS}/a", config())).code == 404
    answer = await server.call(
        "PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", {"metadata": {"name": "l"}}
    )
    assert answer.code == 201


async def test_what_the_server_gave_stays(server: Server) -> None:
    made = await server.ok("POST", JOBS, job())
    sent = {**made, "metadata": {**made["metadata"], "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9}}
    again = await server.ok("PUT", f"{JOBS}/j", sent)
    assert again["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    assert again["metadata"]["generation"] == 1


async def test_the_generation_counts_changes_of_the_spec(server: Server) -> None:
    made = await server.ok("POST", JOBS, job())
    made["metadata"]["labels"]["x"] = "y"
    made = await server.ok("PUT", f"{JOBS}/j", made)
    assert made["metadata"]["generation"] == 1
    made["spec"]["parallelism"] = 3
    assert (await server.ok("PUT", f"{JOBS}/j", made))["metadata"]["generation"] == 2


async def test_immutable_fields_are_defended(server: Server) -> None:
    made = await server.ok("POST", JOBS, job())
    made["spec"]["completions"] = 9
    answer = await server.call("PUT", f"{JOBS}/j", made)
    assert (answer.code, "spec.completions: Invalid value: 9: field is immutable" in answer.message) == (422, True)


async def test_a_dry_run_of_an_update_changes_nothing(server: Server) -> None:
    made = await server.ok("POST", CONFIGMAPS, config(k="1"))
    tried = await server.ok("PUT", f"{CONFIGMAPS}/a?dryRun=All", config(k="2"))
    assert tried["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert (await server.ok("GET", f"{CONFIGMAPS}/a"))["data"] == {"k": "1"}


async def test_a_refusal_shows_empty_values_as_they_were_sent(server: Server) -> None:
    template = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = "/apis/apps/v1/namespaces/default/deployments"
    answer = await server.call("POST", path, {"metadata": {"name": "d"}, "spec": spec})
    text = "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`"
    assert answer.message.endswith(text), answer.message
    del template["metadata"]
    answer = await server.call("POST", path, {"metadata": {"name": "d"}, "spec": spec})
    assert answer.message.endswith(text.replace("{}", "null")), answer.message
