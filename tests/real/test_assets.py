"""Where Kubernetes' programs come from. Nothing is built here."""

from __future__ import annotations

import pathlib
import re

import pytest

from jobrelay.cluster.apiserver.nonresource import VERSION as SERVED
from jobrelay.cluster.node.nodes import VERSION as NODES
from tools.kube import assets

ROOT = pathlib.Path(__file__).resolve().parents[2]


def folder_with(path: pathlib.Path, *names: str) -> str:
    path.mkdir()
    for name in names:
        (path / name).touch(0o755)
    return str(path)


def test_a_named_folder_that_has_all_programs_is_used(tmp_path: pathlib.Path) -> None:
    whole = folder_with(tmp_path / "whole", *assets.PROGRAMS)
    for name in assets.NAMED_BY:
        assert assets.build({name: whole, "PATH": ""}) == pathlib.Path(whole)


def test_a_folder_that_lacks_a_program_is_not(tmp_path: pathlib.Path) -> None:
    part = folder_with(tmp_path / "part", "etcd", "kube-apiserver", "kubectl")
    assert assets.find({"KUBEBUILDER_ASSETS": part, "XDG_CACHE_HOME": str(tmp_path)}) is None


def test_the_cache_is_outside_the_checkout_and_per_release(tmp_path: pathlib.Path) -> None:
    cache = assets.cache({"XDG_CACHE_HOME": str(tmp_path)})
    assert cache == tmp_path / "jobrelay" / "kubernetes" / assets.version()
    assert not assets.cache({}).is_relative_to(ROOT)


def test_without_go_it_is_said_what_to_install(tmp_path: pathlib.Path) -> None:
    with pytest.raises(assets.CannotBuild, match=r"Go is not on PATH\nhint: install Go 1\.25"):
        assets.build({"XDG_CACHE_HOME": str(tmp_path), "PATH": str(tmp_path)})


def test_programs_are_built_once_and_stamped_with_their_release(tmp_path: pathlib.Path) -> None:
    """A compiler that only writes down what it was asked for."""
    go = tmp_path / "go"
    go.write_text(
        '#!/bin/sh\necho "$@" >> "$0.log"\n'
        'while [ $# -gt 1 ]; do [ "$1" = -o ] && : > "$2" && chmod +x "$2"; shift; done\n'
    )
    go.chmod(0o755)
    environ = {"JOBRELAY_KUBE_ASSETS": str(tmp_path / "made"), "PATH": f"{tmp_path}:/bin:/usr/bin"}
    made = assets.build(environ)
    assert sorted(path.name for path in made.iterdir() if path.name != ".lock") == sorted(assets.PROGRAMS)
    asked = (tmp_path / "go.log").read_text()
    assert f"-X k8s.io/component-base/version.gitVersion={assets.version()}" in asked
    assets.build(environ)
    assert (tmp_path / "go.log").read_text() == asked


def test_all_parts_mean_the_same_release() -> None:
    names = ("tests/e2e/go.mod", "tools/typetable/build.py")
    others = [re.search(r"(?:kubernetes v|VERSION = \")([\d.]+)", (ROOT / name).read_text()) for name in names]
    assert {f"v{found[1]}" for found in others if found} | {SERVED["gitVersion"], NODES} == {assets.version()}
