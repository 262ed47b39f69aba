"""The figures of the server: Prometheus' form, Kubernetes' names, and labels that clients cannot multiply."""

from __future__ import annotations

import re

import pytest

from .serving import APPLY, CONFIGMAPS, JOBS, MERGE, PODS, Server, config, pod

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')


async def figures(server: Server) -> dict[str, float]:
    """All samples, by name and labels."""
    found = {}
    for line in (await server.call("GET", "/metrics")).raw.decode().splitlines():
        if not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            found[line.rpartition(" ")[0]] = float(match.group(3))
    return found


def requests(
    verb: str, scope: str, code: int = 200, subresource: str = "", dry_run: str = "", resource: str = "configmaps"
) -> str:
    return (
        f'apiserver_request_total{{code="{code}",component="apiserver",dry_run="{dry_run}",group="",'
        f'resource="{resource}",scope="{scope}",subresource="{subresource}",verb="{verb}",version="v1"}}'
    )


async def test_every_sample_has_a_type_and_a_meaning(server: Server) -> None:
    answer = await server.call("GET", "/metrics")
    assert answer.media == "text/plain; version=0.0.4; charset=utf-8"
    text = answer.raw.decode()
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    assert types.keys() == set(re.findall(r"^# HELP (\S+) \S", text, re.MULTILINE))
    names = {re.sub(r"_(bucket|sum|count)$", "", n) for n in re.findall(r"^([a-z_]+)", text, re.MULTILINE)}
    assert names <= types.keys()


async def test_requests_are_counted_as_kubernetes_does(server: Server) -> None:
    await server.ok("POST", CONFIGMAPS, config())
    await server.ok("POST", f"{CONFIGMAPS}?dryRun=All", config("b"))
    await server.ok("GET", f"{CONFIGMAPS}/a")
    await server.call("GET", f"{CONFIGMAPS}/none")
    await server.ok("GET", CONFIGMAPS)
    await server.ok("GET", "/api/v1/configmaps")
    await server.ok("GET", f"{CONFIGMAPS}?fieldSelector=metadata.name=a")
    await server.ok("PUT", f"{CONFIGMAPS}/a", config())
    await server.ok("PATCH", f"{CONFIGMAPS}/a", {}, media=MERGE)
    await server.ok("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", config(), media=APPLY)
    await server.ok("DELETE", f"{CONFIGMAPS}/a")
    await server.ok("DELETE", CONFIGMAPS)
    await server.watch(CONFIGMAPS)
    found = await figures(server)
    assert found[requests("POST", "resource", 201)] == found[requests("POST", "resource", 201, dry_run="All")] == 1
    assert (found[requests("GET", "resource")], found[requests("GET", "resource", 404)]) == (2, 1)
    assert found[requests("LIST", "namespace")] == found[requests("LIST", "cluster")] == 1
    assert (
        found[requests("PUT", "resource")]
        == found[requests("PATCH", "resource")]
        == found[requests("APPLY", "resource")]
        == 1
    )
    assert found[requests("DELETE", "resource")] == found[requests("DELETE", "namespace")] == 1
    assert found[requests("WATCH", "namespace")] == 1


async def test_subresources_are_counted_apart(server: Server) -> None:
    await server.ok("POST", PODS, pod())
    await server.ok("GET", f"{PODS}/p/status")
    await server.call("GET", f"{PODS}/p/log")
    found = await figures(server)
    assert found[requests("GET", "resource", subresource="status", resource="pods")] == 1
    assert found[requests("CONNECT", "resource", 204, "log", resource="pods")] == 1


async def test_clients_cannot_multiply_the_labels(server: Server) -> None:
    await server.call("GET", "/nowhere")
    await figures(server)
    before = len(await figures(server))
    for number in range(5):
        await server.call("GET", f"/nowhere/{number}")
        await server.call("GET", f"/apis/g{number}.example/v1/things")
        await server.call("GET", f"/api/v1/things{number}")
    assert len(await figures(server)) == before


async def test_durations_are_a_histogram(server: Server) -> None:
    await server.ok("GET", JOBS)
    found = await figures(server)
    name, labels = "apiserver_request_duration_seconds_bucket{", 'resource="jobs"'
    buckets = [value for key, value in found.items() if key.startswith(name) and labels in key]
    assert (buckets == sorted(buckets), buckets[-1]) == (True, 1)


async def test_open_watches_and_their_events_are_counted(server: Server) -> None:
    labels = 'component="apiserver",group="",resource="configmaps",scope="{}",subresource="",verb="WATCH",version="v1"'
    await server.ok("POST", CONFIGMAPS, config())
    everything = await server.watch("/api/v1/configmaps?labelSelector=none")
    one = await server.watch(f"{CONFIGMAPS}?fieldSelector=metadata.name=a")
    found = await figures(server)
    for scope in ("cluster", "resource"):
        assert found["apiserver_longrunning_requests{" + labels.format(scope) + "}"] == 1
    assert found['apiserver_watch_events_total{group="",resource="configmaps",version="v1"}'] == 1
    for watcher in (everything, one):
        watcher.stream.stop()
    assert not any(key.startswith("apiserver_longrunning") for key in await figures(server))


async def test_objects_and_the_store_are_counted(server: Server) -> None:
    await server.ok(
        "POST",
        JOBS,
        {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod()["spec"] | {"restartPolicy": "Never"}}}},
    )
    found = await figures(server)
    assert found['apiserver_storage_objects{resource="jobs.batch"}'] == 1
    assert found['apiserver_resource_objects{group="batch",resource="jobs"}'] == 1
    assert (found["jobrelay_store_batch_size_sum"], found["jobrelay_store_batch_size_count"]) == (1, 1)
    assert found["jobrelay_store_version"] == server.store.committed


async def test_the_request_that_asks_is_in_flight(server: Server) -> None:
    found = await figures(server)
    assert found['apiserver_current_inflight_requests{request_kind="readOnly"}'] == 1
    assert found['apiserver_current_inflight_requests{request_kind="mutating"}'] == 0


@pytest.mark.parametrize("name", ["process_cpu_seconds_total", "process_max_fds"])
async def test_the_process_is_measured(server: Server, name: str) -> None:
    assert (await figures(server))[name] > 0
