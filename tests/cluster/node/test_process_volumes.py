"""Volumes of pods that are processes: at their paths or in variables, and up to date."""

from __future__ import annotations

import base64
import json
import os
import pathlib
from typing import Any

import pytest

from jobrelay.cluster.node.process import atomicwriter
from jobrelay.cluster.node.process import pod as worker
from jobrelay.cluster.node.process.environment import service_env
from jobrelay.kube.patch import merge_patch
from jobrelay.kube.resource import CONFIGMAPS, PODS, SECRETS, SERVICEACCOUNTS

from .world import World, mounts, processes, terminated, written

CONFIG = {"name": "v", "configMap": {"name": "cm"}}
AT = {"volumeMounts": [{"name": "v", "mountPath": "/etc/deep/v"}]}


async def config_map(world: World, **data: str) -> None:
    await world.client.create(CONFIGMAPS, {"metadata": {"name": "cm", "namespace": "default"}, "data": data})


def files(**contents: str) -> dict[str, atomicwriter.FileProjection]:
    return {
        name.replace("__", "/"): atomicwriter.FileProjection(text.encode(), 0o644) for name, text in contents.items()
    }


def test_files_are_links_through_one_link(tmp_path: pathlib.Path) -> None:
    atomicwriter.write(tmp_path, files(a="1", below__b="2"))
    assert (tmp_path / "a").read_text() + (tmp_path / "below" / "b").read_text() == "12"
    assert os.readlink(tmp_path / "a") == "..data/a"
    assert os.readlink(tmp_path / "below") == "..data/below"


def test_new_files_replace_old_ones_and_leave_nothing(tmp_path: pathlib.Path) -> None:
    atomicwriter.write(tmp_path, files(a="1", gone="x"))
    assert atomicwriter.write(tmp_path, files(a="2", new="y"))
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("..")) == ["a", "new"]
    assert (tmp_path / "a").read_text() == "2"
    assert len([path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink()]) == 1


def test_the_same_files_change_nothing(tmp_path: pathlib.Path) -> None:
    atomicwriter.write(tmp_path, files(a="1"))
    before = os.readlink(tmp_path / "..data")
    assert not atomicwriter.write(tmp_path, files(a="1"))
    assert os.readlink(tmp_path / "..data") == before


@mounts
async def test_a_changed_config_map_is_seen(
    world: World, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "REFRESH", 0.05)
    await config_map(world, k="old")
    script = f"echo > {tmp_path}/up; while [ $(cat /etc/deep/v/k) = old ]; do sleep 0.05; done; cat /etc/deep/v/k"
    await world.run(script, container=AT, volumes=[CONFIG])
    await written(tmp_path / "up")
    await world.client.patch(CONFIGMAPS, "cm", merge_patch({"data": {"k": "new"}}), "default")
    await world.ended()
    assert await world.log() == "new"


@mounts
async def test_a_changed_label_is_seen(world: World, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "REFRESH", 0.05)
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    script = f"echo > {tmp_path}/up; until grep colour /etc/deep/v/labels; do sleep 0.05; done"
    await world.run(script, container=AT, volumes=[{"name": "v", "downwardAPI": {"items": items}}])
    await written(tmp_path / "up")
    await world.client.patch(PODS, "p", merge_patch({"metadata": {"labels": {"colour": "red"}}}), "default")
    await world.ended()
    assert await world.log() == 'colour="red"\n'


@mounts
async def test_what_comes_from_the_api_is_read_only(world: World) -> None:
    await config_map(world, k="v")
    await world.run("touch /etc/deep/v/more 2>&1 || exit 7", container=AT, volumes=[CONFIG])
    assert terminated(await world.ended())["exitCode"] == 7
    assert "Read-only file system" in await world.log()


@mounts
async def test_one_key_over_an_existing_file(world: World) -> None:
    await config_map(world, k="held")
    points = [{"name": "v", "mountPath": "/etc/hostname", "subPath": "k"}]
    await world.run("cat /etc/hostname", container={"volumeMounts": points}, volumes=[CONFIG])
    await world.ended()
    assert await world.log() == "held"


async def test_a_pod_waits_for_its_config_map(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "RETRY", 0.05)
    await world.run("true", container=AT, volumes=[CONFIG])
    text = 'MountVolume.SetUp failed for volume "v" : configmap "cm" not found'
    assert await world.event("FailedMount") == text
    await config_map(world, k="v")
    assert (await world.ended())["status"]["phase"] == "Succeeded"


async def test_without_mounts_volumes_are_in_variables(tmp_path: pathlib.Path) -> None:
    async with processes(tmp_path, mounts=False) as world:
        await world.client.create(
            SECRETS, {"metadata": {"name": "s", "namespace": "default"}, "stringData": {"k": "hidden"}}
        )
        volumes: list[dict[str, Any]] = [
            {"name": "my-data", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "s"}},
        ]  # fmt: skip
        points = [{"name": one["name"], "mountPath": f"/somewhere/{one['name']}"} for one in volumes]
        script = "cp $JOBRELAY_MOUNT_S/k $JOBRELAY_MOUNT_MY_DATA/c; cat $JOBRELAY_MOUNT_MY_DATA/c; "
        script += "printf bye > $TERMINATION_LOG"
        await world.run(script, container={"volumeMounts": points}, volumes=volumes)
        assert terminated(await world.ended())["message"] == "bye"
        assert await world.log() == "hidden"
        assert "JOBRELAY_MOUNT_<VOLUME>" in await world.event("NoMounts")


async def test_without_mounts_commands_name_the_folders_of_volumes(tmp_path: pathlib.Path) -> None:
    async with processes(tmp_path, mounts=False) as world:
        container = {"volumeMounts": [{"name": "d", "mountPath": "/data"}], "workingDir": "/data"}
        script = "echo held > /data/f; cat f; printf bye > /dev/termination-log"
        await world.run(script, container=container, volumes=[{"name": "d", "emptyDir": {}}])
        assert terminated(await world.ended())["message"] == "bye"
        assert await world.log() == "held\n"


async def test_without_mounts_sh_is_not_dash_either(tmp_path: pathlib.Path) -> None:
    async with processes(tmp_path, mounts=False) as world:
        await world.run("[[ abc == a* ]] && sh -c '[[ abc == a* ]]'")
        assert (await world.ended())["status"]["phase"] == "Succeeded"


@mounts
async def test_a_pod_can_say_who_it_is(world: World) -> None:
    await world.client.create(SERVICEACCOUNTS, {"metadata": {"name": "sa", "namespace": "default"}})
    projected = {"sources": [{"serviceAccountToken": {"path": "token", "audience": "somebody"}}]}
    volumes = [{"name": "v", "projected": projected}]
    await world.run("cut -d. -f2 /etc/deep/v/token", container=AT, volumes=volumes, serviceAccountName="sa")
    await world.ended()
    claims = json.loads(base64.urlsafe_b64decode((await world.log()).strip() + "=="))
    assert (claims["aud"], claims["kubernetes.io"]["pod"]["name"]) == (["somebody"], "p")


def test_services_are_variables() -> None:
    ports = [{"name": "web", "port": 80, "protocol": "TCP"}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    service = {"metadata": {"name": "my-app"}, "spec": {"clusterIP": "10.0.0.7", "ports": ports}}
    headless = {"metadata": {"name": "none"}, "spec": {"clusterIP": "None", "ports": ports}}
    env = service_env([service, headless])
    assert env["MY_APP_SERVICE_HOST"] == env["MY_APP_PORT_80_TCP_ADDR"] == "10.0.0.7"
    assert (env["MY_APP_SERVICE_PORT"], env["MY_APP_SERVICE_PORT_DNS"]) == ("80", "53")
    assert (env["MY_APP_PORT"], env["MY_APP_PORT_53_UDP"]) == ("tcp://10.0.0.7:80", "udp://10.0.0.7:53")
    assert not [name for name in env if name.startswith("NONE")]
