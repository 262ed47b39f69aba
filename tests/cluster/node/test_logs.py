from __future__ import annotations

import datetime as dt
import gc
import pathlib

from jobrelay.cluster.apiserver.streams import PodLogOptions
from jobrelay.cluster.node.process.logs import LogFile, LogStream, read_log
from jobrelay.kube import connect

from .world import processes


class Taken:
    def __init__(self) -> None:
        self.data, self.ended = b"", False

    def write(self, data: bytes) -> None:
        self.data += data

    def backlog(self) -> int:
        return 0

    def end(self) -> None:
        self.ended = True


def opened(path: pathlib.Path, count: int, *, largest: int = 10**6) -> LogFile:
    log = LogFile(path, largest=largest)
    for number in range(count):
        log.write("stdout", b"line %d" % number)
    return log


def filled(path: pathlib.Path, count: int = 3, *, largest: int = 10**6) -> LogFile:
    log = opened(path, count, largest=largest)
    log.close()
    return log


def test_the_last_lines(tmp_path: pathlib.Path) -> None:
    log = filled(tmp_path / "0.log")
    assert read_log(log.path, PodLogOptions(tail=2)) == b"line 1\nline 2\n"
    assert read_log(log.path, PodLogOptions(tail=0)) == b""


def test_the_first_bytes(tmp_path: pathlib.Path) -> None:
    assert read_log(filled(tmp_path / "0.log").path, PodLogOptions(limit=8)) == b"line 0\nl"


def test_lines_since(tmp_path: pathlib.Path) -> None:
    log = filled(tmp_path / "0.log")
    later = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60)
    assert read_log(log.path, PodLogOptions(since=later)) == b""


def test_times_of_lines(tmp_path: pathlib.Path) -> None:
    time, _, line = read_log(filled(tmp_path / "0.log", 1).path, PodLogOptions(timestamps=True)).partition(b" ")
    assert line == b"line 0\n"
    assert dt.datetime.fromisoformat(time.decode()[:26] + "Z").tzinfo is not None


def test_a_log_rotates_and_is_read_as_one(tmp_path: pathlib.Path) -> None:
    log = filled(tmp_path / "0.log", 100, largest=500)
    text = read_log(log.path, PodLogOptions()).decode().split("\n")
    assert text[-2] == "line 99"
    assert len(list(tmp_path.iterdir())) == 5


def test_a_follower_gets_what_is_there_and_what_comes(tmp_path: pathlib.Path) -> None:
    log, sink = opened(tmp_path / "0.log", 1), Taken()
    LogStream(log, PodLogOptions(follow=True)).start(sink)
    log.write("stderr", b"more")
    log.close()
    assert (sink.data, sink.ended) == (b"line 0\nmore\n", True)


def test_a_follower_that_left_hears_nothing(tmp_path: pathlib.Path) -> None:
    log, sink = opened(tmp_path / "0.log", 0), Taken()
    stream = LogStream(log, PodLogOptions(follow=True))
    stream.start(sink)
    stream.stop()
    log.write("stdout", b"more")
    assert sink.data == b""
    log.close()


async def test_a_client_that_leaves_a_silent_log_is_noticed(tmp_path: pathlib.Path) -> None:
    async with processes(tmp_path) as world, connect(tmp_path / "dev.kubeconfig") as client:
        await world.run("echo first; sleep 1000")
        await world.until(lambda pod: pod["status"]["phase"] == "Running")
        async with client.logs("p", "default", follow=True) as chunks:
            assert await anext(aiter(chunks)) == b"first\n"
            assert followers() == 1
        await world.true(lambda: followers() == 0)


def followers() -> int:
    return sum(len(log._listeners) for log in gc.get_objects() if isinstance(log, LogFile))
