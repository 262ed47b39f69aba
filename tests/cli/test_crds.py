"""`jobrelay cluster crds`, and `jobrelay up --crds`."""

from __future__ import annotations

import asyncio
import json
import pathlib
from collections.abc import AsyncIterator

import pytest
import yaml
from click.testing import CliRunner, Result

from jobrelay.cli import root
from jobrelay.cluster import Cluster
from jobrelay.kube import connect
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.crds import KNOWN, make_definitions

from .command import run
from .test_fleet import QUICK, up

JOBSETS = "jobsets.jobset.x-k8s.io"


async def call(*arguments: object) -> Result:
    command = ["cluster", "crds", *map(str, arguments)]
    return await asyncio.to_thread(CliRunner().invoke, root, command, catch_exceptions=False)


@pytest.fixture
async def dev(tmp_path: pathlib.Path) -> AsyncIterator[Cluster]:
    async with Cluster("dev", tmp_path, memory=True, controllers="none") as cluster:
        yield cluster


async def test_a_definition_is_installed_by_the_name_of_a_cluster(dev: Cluster, tmp_path: pathlib.Path) -> None:
    result = await call("add", "jobset", "-c", "dev", "--dir", tmp_path)
    assert result.stdout.splitlines() == [
        "NAME                      RESULT    SOURCE",
        f"{JOBSETS}   created   jobset",
    ]
    assert (await dev.client().get(CUSTOMRESOURCEDEFINITIONS, JOBSETS)).name == JOBSETS


async def test_a_definition_is_installed_by_a_kubeconfig(dev: Cluster) -> None:
    arguments = ("add", "jobset", "--kubeconfig", dev.kubeconfig, "-o", "json")
    first, second = json.loads((await call(*arguments)).stdout), json.loads((await call(*arguments)).stdout)
    assert first == [{"name": JOBSETS, "result": "created", "source": "jobset"}]
    assert second == [{"name": JOBSETS, "result": "unchanged", "source": "jobset"}]


async def test_several_clusters_are_told_apart(dev: Cluster, tmp_path: pathlib.Path) -> None:
    async with Cluster("other", tmp_path, memory=True, controllers="none"):
        result = await call("add", "jobset", "-c", "dev", "-c", "other", "--dir", tmp_path)
    assert [line.split()[:3] for line in result.stdout.splitlines()[1:]] == [
        ["dev", JOBSETS, "created"],
        ["other", JOBSETS, "created"],
    ]


async def test_what_is_left_out_of_a_file_is_noted(dev: Cluster, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(yaml.safe_dump_all([{"kind": "Namespace"}, *make_definitions("jobset")]))
    result = await call("add", path, "--kubeconfig", dev.kubeconfig)
    assert result.stderr == f"note: {path}: left out 1 objects that are not CustomResourceDefinitions\n"
    assert result.exit_code == 0


async def test_definitions_are_listed(dev: Cluster) -> None:
    assert (await call("list", "--kubeconfig", dev.kubeconfig)).stderr == "no CustomResourceDefinitions\n"
    await call("add", "kuberay", "--kubeconfig", dev.kubeconfig)
    listed = json.loads((await call("list", "--kubeconfig", dev.kubeconfig, "-o", "json")).stdout)
    assert listed[0] == {
        "name": "rayclusters.ray.io",
        "kind": "RayCluster",
        "versions": "v1,v1alpha1",
        "established": "yes",
    }


async def test_names_are_listed_without_a_cluster() -> None:
    listed = json.loads((await call("list", "--available", "-o", "json")).stdout)
    assert tuple(dict.fromkeys(each["source"] for each in listed)) == KNOWN


async def test_an_error_names_the_file(dev: Cluster, tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod")
    result = await call("add", tmp_path / "a.yaml", "--kubeconfig", dev.kubeconfig)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {tmp_path}/a.yaml has no CustomResourceDefinition\nhint: ")


async def test_a_cluster_that_is_not_running_is_an_error(tmp_path: pathlib.Path) -> None:
    async with Cluster("dev", tmp_path, controllers="none"):
        pass
    result = await call("add", "jobset", "-c", "dev", "--dir", tmp_path)
    assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: cluster 'dev' is not running")


async def test_only_one_way_to_name_a_cluster(dev: Cluster) -> None:
    result = await call("add", "jobset", "-c", "dev", "--kubeconfig", dev.kubeconfig)
    assert (result.exit_code, "Give either --cluster or --kubeconfig." in result.stderr) == (2, True)


async def test_the_help_has_all_names() -> None:
    shown = " ".join((await call("add", "--help")).stdout.split())
    assert all(name in shown for name in KNOWN)


def test_names_are_completed() -> None:
    words = {"_JOBRELAY_COMPLETE": "bash_complete", "COMP_WORDS": "jobrelay cluster crds add tr", "COMP_CWORD": "4"}
    assert run(**words).stdout.split() == ["file,tr", "plain,trainer", "plain,training-operator"]


async def test_a_fleet_defines_kinds_on_all_clusters_before_the_relay_starts(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.yaml").write_text(yaml.safe_dump_all(make_definitions("appwrapper")))
    folder = tmp_path / "fleet"
    with up("--dir", folder, "--workers", 1, "--memory", *QUICK, "--crds", f"jobset,{tmp_path / 'a.yaml'}"):
        for name in ("management", "worker-1"):
            async with connect(folder / f"{name}.kubeconfig") as client:
                found = {each.name for each in (await client.list(CUSTOMRESOURCEDEFINITIONS)).items}
            assert {JOBSETS, "appwrappers.workload.codeflare.dev"} <= found


def test_a_fleet_does_not_start_with_a_definition_that_cannot_be_read(tmp_path: pathlib.Path) -> None:
    result = run("up", "--dir", tmp_path / "fleet", "--crds", "jobsets")
    assert result.returncode == 2
    assert "is neither a file or folder nor the name of a definition" in result.stderr
    assert not (tmp_path / "fleet").exists()


def test_a_fleet_whose_kinds_are_refused_does_not_stay(tmp_path: pathlib.Path) -> None:
    (bad,) = make_definitions("jobset")
    bad["spec"]["scope"] = "Anywhere"
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(bad))
    folder = tmp_path / "fleet"
    result = run("up", "--dir", folder, "--workers", 1, "--memory", *QUICK, "--crds", tmp_path / "a.yaml")
    assert result.returncode == 2
    assert result.stderr.startswith(f"error: {tmp_path / 'a.yaml'}: {JOBSETS} was refused: ")
    assert list(folder.glob("*.pid")) == []


async def test_a_fleet_in_the_background_defines_kinds_too(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.yaml").write_text(yaml.safe_dump_all(make_definitions("appwrapper")))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "fleet"
    options = (
        "--workers",
        1,
        "--memory",
        *QUICK,
        "--controllers",
        "all,jobset",
        "--crds",
        "jobset",
        "--crds",
        "a.yaml",
    )
    started = run("up", "-d", "--dir", folder, *options)
    try:
        assert started.returncode == 0, started.stderr
        async with connect(folder / "worker-1.kubeconfig") as client:
            found = {each.name for each in (await client.list(CUSTOMRESOURCEDEFINITIONS)).items}
        assert found == {JOBSETS, "appwrappers.workload.codeflare.dev"}
    finally:
        assert run("down", "--dir", folder).returncode == 0
