"""Container logs: files of timestamped lines in the CRI format, with rotation, and readers that can follow.

    2026-01-01T00:00:00.000000000Z stdout F the line

`P` instead of `F` marks a partial line. One `LogFile` is one run of a container. Readers read the files, and then, if
they follow, get each line from memory as it is written.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import pathlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from jobrelay.cluster.apiserver.response import Sink
from jobrelay.cluster.apiserver.streams import PodLogOptions

LARGEST: Final = 10 * 1024 * 1024
KEPT: Final = 5
LONGEST_LINE: Final = 16 * 1024
BACKLOG: Final = 4 * 1024 * 1024


class LogFile:
    """The log of one run of a container."""

    def __init__(self, path: pathlib.Path, *, largest: int = LARGEST) -> None:
        self.path, self._largest = path, largest
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO | None = path.open("ab")
        self._size = self._file.tell()
        self._listeners: set[Callable[[bytes | None], None]] = set()

    @property
    def closed(self) -> bool:
        return self._file is None

    def write(self, stream: str, line: bytes, *, partial: bool = False) -> None:
        """Appends a line, or a part of one, without its newline."""
        if self._file is None:
            return
        stamp = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        record = b"%s %s %s %s\n" % (stamp.encode(), stream.encode(), b"P" if partial else b"F", line)
        if self._size + len(record) > self._largest and self._size:
            self._rotate()
        self._file.write(record)
        self._file.flush()
        self._size += len(record)
        for listener in tuple(self._listeners):
            listener(record)

    def close(self) -> None:
        """Ends the log; followers stop."""
        if self._file is not None:
            self._file.close()
            self._file = None
        for listener in tuple(self._listeners):
            listener(None)
        self._listeners.clear()

    def listen(self, listener: Callable[[bytes | None], None]) -> Callable[[], None]:
        """Calls `listener` with each further record, and None at the end; returns a function that ends this."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def _rotate(self) -> None:
        assert self._file is not None
        self._file.close()
        for number in range(KEPT - 1, 0, -1):
            older = _rotated(self.path, number)
            if older.exists():
                older.replace(_rotated(self.path, number + 1)) if number + 1 < KEPT else older.unlink()
        self.path.replace(_rotated(self.path, 1))
        self._file, self._size = self.path.open("ab"), 0


def _rotated(path: pathlib.Path, number: int) -> pathlib.Path:
    return path.with_name(f"{path.name}.{number}")


class LineSplitter(asyncio.Protocol):
    """Reads one stream of a container from a pipe, and writes its lines to a log."""

    def __init__(self, log: LogFile, stream: str, received: Callable[[str, bytes], None]) -> None:
        self._log, self._stream, self._received = log, stream, received
        self._rest = b""
        self.ended = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._received(self._stream, data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._log.write(self._stream, line)
        while len(self._rest) >= LONGEST_LINE:
            self._log.write(self._stream, self._rest[:LONGEST_LINE], partial=True)
            self._rest = self._rest[LONGEST_LINE:]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._rest:
            self._log.write(self._stream, self._rest, partial=True)
        if not self.ended.done():
            self.ended.set_result(None)


def read_log(path: pathlib.Path, options: PodLogOptions) -> bytes:
    """The log of one run, filtered by the options."""
    records = _records(path)
    if options.since is not None:
        since = options.since.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
        records = (record for record in records if record[:19] >= since)
    if options.tail is not None:
        records = iter(deque(records, options.tail))
    text = b"".join(show(record, timestamps=options.timestamps) for record in records)
    return text if options.limit is None else text[: options.limit]


def _records(path: pathlib.Path) -> Iterator[bytes]:
    for number in range(KEPT - 1, -1, -1):
        part = path if number == 0 else _rotated(path, number)
        if part.exists():
            with part.open("rb") as file:
                yield from file


def show(record: bytes, *, timestamps: bool) -> bytes:
    """A record as `kubectl logs` shows it."""
    time, _, kind, line = record.split(b" ", 3)
    if kind == b"P":
        line = line.removesuffix(b"\n")
    return b"%s %s" % (time, line) if timestamps else line


class LogStream:
    """A followed log as a response body: existing lines, then new ones, until the run or the client ends."""

    def __init__(self, log: LogFile, options: PodLogOptions) -> None:
        self._log, self._options = log, options
        self._left = options.limit
        self._unsubscribe: Callable[[], None] | None = None
        self._sink: Sink | None = None

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self._send(read_log(self._log.path, self._options))
        if self._log.closed or self._left == 0:
            sink.end()
        else:
            self._unsubscribe = self._log.listen(self._written)

    def stop(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

    def _written(self, record: bytes | None) -> None:
        assert self._sink is not None
        if record is not None:
            self._send(show(record, timestamps=self._options.timestamps))
        if record is None or self._left == 0 or self._sink.backlog() > BACKLOG:
            self.stop()
            self._sink.end()

    def _send(self, text: bytes) -> None:
        assert self._sink is not None
        if self._left is not None:
            text = text[: self._left]
            self._left -= len(text)
        if text:
            self._sink.write(text)


class PodLogs:
    """The logs of one pod: a folder per container, a file per run."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._open: dict[str, LogFile] = {}

    def open(self, container: str, run: int) -> LogFile:
        """Opens the log of a new run; the logs of the last two runs are kept."""
        log = self._open[container] = LogFile(self._folder / container / f"{run}.log")
        for old in runs(self._folder / container)[:-2]:
            for part in old.parent.glob(f"{old.name}*"):
                part.unlink()
        return log

    def find(self, container: str, *, previous: bool) -> pathlib.Path | None:
        """The file of the last run, or of the one before."""
        found = runs(self._folder / container)
        position = 2 if previous else 1
        return found[-position] if len(found) >= position else None

    def open_log(self, path: pathlib.Path) -> LogFile | None:
        """The log that is being written to a file, if there is one."""
        return next((log for log in self._open.values() if log.path == path and not log.closed), None)

    def close(self) -> None:
        for log in self._open.values():
            log.close()


def runs(folder: pathlib.Path) -> list[pathlib.Path]:
    """The files of a container's runs, oldest first."""
    return sorted(folder.glob("*.log"), key=lambda path: int(path.stem)) if folder.exists() else []
