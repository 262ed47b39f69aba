"""The folder of a cluster: made, found again, locked, and left alone when it is not ours."""

from __future__ import annotations

import json
import pathlib
import stat

import pytest

from jobrelay.cluster.errors import AlreadyRunning, FolderError
from jobrelay.cluster.files import ClusterFolder, find_folders, write_private
from jobrelay.cluster.store import Row, SqliteBackend
from jobrelay.kube.key_pair import KeyPair


def opened(parent: pathlib.Path, name: str = "dev") -> ClusterFolder:
    folder = ClusterFolder(parent, name)
    folder.open()
    return folder


def test_what_is_private_can_be_read_by_its_owner_only(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "secret"
    write_private(path, b"old")
    write_private(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)


def test_the_folder_of_a_cluster_is_private(tmp_path: pathlib.Path) -> None:
    opened(tmp_path).close()
    assert stat.S_IMODE((tmp_path / "dev").stat().st_mode) == 0o700


def test_settings_are_found_again(tmp_path: pathlib.Path) -> None:
    folder = opened(tmp_path)
    folder.save({"port": 6443})
    folder.close()
    again = opened(tmp_path)
    assert again.settings()["port"] == 6443
    again.close()


def test_keys_are_made_once(tmp_path: pathlib.Path) -> None:
    folder = opened(tmp_path)
    first = folder.pair("ca", lambda: KeyPair(b"certificate", b"key"))
    assert folder.pair("ca", lambda: KeyPair(b"other", b"other")) == first
    folder.close()


def test_a_cluster_runs_once(tmp_path: pathlib.Path) -> None:
    folder = opened(tmp_path)
    with pytest.raises(AlreadyRunning, match=r"'dev' .* already running \(pid \d+\)"):
        opened(tmp_path)
    folder.close()
    opened(tmp_path).close()


def test_the_lock_tells_who_runs(tmp_path: pathlib.Path) -> None:
    folder = opened(tmp_path)
    assert ClusterFolder(tmp_path, "dev").holder() is not None
    folder.close()
    assert ClusterFolder(tmp_path, "dev").holder() is None


def test_a_foreign_folder_is_left_alone(tmp_path: pathlib.Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "letter.txt").write_text("dear")
    with pytest.raises(FolderError, match="not a jobrelay cluster's"):
        opened(tmp_path)
    assert [entry.name for entry in (tmp_path / "dev").iterdir()] == ["letter.txt"]


def test_an_empty_folder_is_taken(tmp_path: pathlib.Path) -> None:
    (tmp_path / "dev").mkdir()
    folder = opened(tmp_path)
    assert ClusterFolder(tmp_path, "dev").holder() is not None
    folder.close()


def test_a_folder_left_by_a_crash_at_the_first_start_is_taken(tmp_path: pathlib.Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "lock").touch()
    folder = opened(tmp_path)
    assert ClusterFolder(tmp_path, "dev").holder() is not None
    folder.close()


def test_a_foreign_kubeconfig_is_left_alone(tmp_path: pathlib.Path) -> None:
    (tmp_path / "dev.kubeconfig").write_text("apiVersion: v1")
    with pytest.raises(FolderError, match="was not written by jobrelay"):
        opened(tmp_path)


@pytest.mark.parametrize("marker", ["{}", "[]", "not json", json.dumps({"program": "jobrelay", "version": 2})])
def test_a_marker_that_is_not_ours_is_refused(tmp_path: pathlib.Path, marker: str) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "cluster.json").write_text(marker)
    with pytest.raises(FolderError):
        opened(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FolderError, match="cannot be used: Not a directory"):
        opened(tmp_path / "file")


def test_clusters_are_found_by_their_markers(tmp_path: pathlib.Path) -> None:
    for name in ("b", "a"):
        opened(tmp_path, name).close()
    (tmp_path / "other").mkdir()
    assert [folder.name for folder in find_folders(tmp_path)] == ["a", "b"]
    assert find_folders(tmp_path / "nowhere") == []


def test_deleting_removes_everything_of_the_cluster_and_nothing_else(tmp_path: pathlib.Path) -> None:
    folder = opened(tmp_path)
    write_private(folder.kubeconfig, b"{}")
    folder.close()
    (tmp_path / "mine.txt").touch()
    folder.remove()
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.txt"]


def test_a_running_cluster_is_not_deleted(tmp_path: pathlib.Path) -> None:
    folder = opened(tmp_path)
    with pytest.raises(AlreadyRunning):
        ClusterFolder(tmp_path, "dev").remove()
    folder.close()


def test_a_foreign_folder_is_not_deleted(tmp_path: pathlib.Path) -> None:
    (tmp_path / "dev").mkdir()
    with pytest.raises(FolderError, match="is not the folder of a jobrelay cluster"):
        ClusterFolder(tmp_path, "dev").remove()
    assert (tmp_path / "dev").exists()


def test_a_new_log_keeps_the_one_before(tmp_path: pathlib.Path) -> None:
    folder = ClusterFolder(tmp_path, "dev")
    for text in (b"first", b"second"):
        with open(folder.new_log(), "wb") as log:
            log.write(text)
    assert (folder.log.read_bytes(), (folder.path / "log.1").read_bytes()) == (b"second", b"first")


def test_files_that_others_could_read_become_private(tmp_path: pathlib.Path) -> None:
    folder = opened(tmp_path)
    folder.close()
    (folder.pki / "ca.key").write_bytes(b"key")
    for name in ("store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "log"):
        (folder.path / name).touch()
    (folder.path / "pods").mkdir()
    paths = [folder.path, *folder.path.iterdir(), folder.pki / "ca.key"]
    for path in paths:
        path.chmod(0o777 if path.is_dir() else 0o666)
    outside = tmp_path / "outside"
    outside.touch(0o666)
    (folder.path / "link").symlink_to(outside)
    opened(tmp_path).close()
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o700, 0o600}
    assert outside.stat().st_mode & 0o044


def test_a_new_store_is_private(tmp_path: pathlib.Path) -> None:
    backend = SqliteBackend(tmp_path / "store.sqlite")
    backend.commit([Row("pods", "default", "a", 1, b"{}")], 1)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"), 0o600)
    backend.close()
