"""The process above all containers of a cluster; run as a program of its own, with nothing but the standard library.

The cluster talks to it over one socket. It forks, sets up mounts, starts and signals programs, and reports how they ended. That it
is small makes forking cheap, and that it stands between the cluster and the containers is why nothing is left behind: when the
socket closes, however the cluster ended, it ends every container and itself. If it is killed, the kernel ends the containers'
first processes, and the next supervisor of the same cluster ends whatever else still carries the cluster's mark.

Orphans come to it instead of to process 1, and are ended with the container that they belong to.

Requests: {"op": "spawn", "id": n} with descriptors of a JSON file, stdin, stdout and stderr; {"op": "kill", "id": n, "signal": s}.
Answers: {"op": "hello", "mounts": "root" | "user" | ""}, {"op": "spawned", "id": n, "pid": p | "error": text}, {"op": "exit", ...}.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import select
import signal
import socket
import stat
import sys
import time
from typing import Any

CLUSTER_MARK = "JOBRELAY_CLUSTER"
CONTAINER_MARK = "JOBRELAY_CONTAINER"
GRACE = 1.0
_PDEATHSIG, _SUBREAPER, _NO_NEW_PRIVS = 1, 36, 38
_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_BIND, _REC, _PRIVATE, _RDONLY, _REMOUNT, _RELATIME = 4096, 16384, 1 << 18, 1, 32, 1 << 21
_SPARED = re.compile("(tty|vcs|loop|ram|nbd|md).+")  # devices that no container uses: every mount takes time
_libc = ctypes.CDLL(None, use_errno=True)


class MountError(Exception):
    """The mounts of a container could not be set up."""


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, flags: int) -> None:
    _check(_libc.mount(source.encode(), target.encode(), None, flags, None), f"mount {source} at {target}")


def own_mounts(way: str) -> None:
    """Gives this process mounts of its own: as root, or as root of a user namespace."""
    uid, gid = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEWNS | (_NEWUSER if way == "user" else 0)), "unshare")
    if way == "user":
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    mount("none", "/", _REC | _PRIVATE)


def enter_mounts(pid: int) -> None:
    """Joins the mounts and the root of another process."""
    root = os.open(f"/proc/{pid}/root", os.O_RDONLY)
    spaces = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    if os.getuid() != 0:
        owner = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
        _check(_libc.setns(owner, _NEWUSER), "setns")
    _check(_libc.setns(spaces, _NEWNS), "setns")
    os.fchdir(root)
    os.chroot(".")


# A root folder that looks like the machine's own, with other things at some places.


def build_root(root: str, binds: list[list[Any]]) -> None:
    """Fills `root`: what the machine has, and at each target of `binds` its source."""
    tree: dict[str, Any] = {}
    for source, target, read_only in binds:
        parts = [part for part in os.path.realpath(target).split("/") if part]
        below = tree
        for part in parts[:-1]:
            below = below.setdefault(part, {})
            if isinstance(below, _Leaf):
                below = below.below
        known = below.get(parts[-1])
        below[parts[-1]] = _Leaf(source, read_only, known if isinstance(known, dict) else {})
    _mirror("/", root, tree)


class _Leaf:
    def __init__(self, source: str, read_only: bool, below: dict[str, Any]) -> None:
        self.source, self.read_only, self.below = source, read_only, below


def _mirror(host: str, target: str, tree: dict[str, Any]) -> None:
    """Shows every entry of a folder in an empty one, except those that are replaced or added."""
    with contextlib.suppress(FileNotFoundError):
        # The folder that holds the target comes first, while nothing is mounted below it.
        for entry in sorted(os.scandir(host), key=lambda entry: not target.startswith(entry.path + "/")):
            if entry.name in tree or (host == "/dev" and _SPARED.fullmatch(entry.name)):
                continue
            place = os.path.join(target, entry.name)
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
            else:
                with contextlib.suppress(PermissionError):
                    _bind(entry.path, place)
    for name, what in tree.items():
        _put(os.path.join(host, name), os.path.join(target, name), what)


def _put(host: str, place: str, what: Any) -> None:
    if isinstance(what, _Leaf):
        _bind(what.source, place)
        for name, more in what.below.items():
            _put(os.path.join(what.source, name), os.path.join(place, name), more)
        if what.read_only:
            mount("none", place, _BIND | _REMOUNT | _RDONLY | _flags(place))
    elif _complete(host, what):
        _bind(host, place)
        for name, more in what.items():
            _put(os.path.join(host, name), os.path.join(place, name), more)
    else:
        os.makedirs(place, exist_ok=True)
        _mirror(host, place, what)


def _flags(place: str) -> int:
    """The flags of a mount that must be named again when it is changed."""
    held = os.statvfs(place).f_flag
    kept = held & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)
    return kept | (_RELATIME if held & os.ST_RELATIME else 0)


def _complete(host: str, tree: dict[str, Any]) -> bool:
    """Whether a folder already has all places that something is to be put at."""
    for name, what in tree.items():
        path = os.path.join(host, name)
        if not os.path.exists(path):
            return False
        if isinstance(what, _Leaf):
            if os.path.isdir(path) != os.path.isdir(what.source):
                return False
        elif not _complete(path, what):
            return False
    return True


def _bind(source: str, place: str) -> None:
    if os.path.isdir(source):
        os.makedirs(place, exist_ok=True)
    elif not os.path.lexists(place):
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
    mount(source, place, _BIND | _REC)


# One container.


def _become(spec: dict[str, Any], fds: list[int], way: str, supervisor: int) -> None:
    """Turns a forked child into the container's program."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
    if spec.get("tty"):
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    try:
        _change_root(spec, way)
    except OSError as error:
        raise MountError(str(error)) from error
    _share_cpus(spec["cpus"])
    os.chdir(spec.get("cwd") or "/")
    os.umask(0o022)
    if spec["user"]:
        _become_user(*spec["user"])
    if spec["keeps_privileges"]:
        _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # after the change of user, which would undo it
    if os.getppid() != supervisor:
        os._exit(127)
    os.execve(_find(spec["program"], spec["env"]), spec["argv"], spec["env"])  # noqa: S606


def _change_root(spec: dict[str, Any], way: str) -> None:
    if spec.get("join"):
        enter_mounts(spec["join"])
    elif spec.get("root") and way:
        own_mounts(way)
        build_root(spec["root"], spec["binds"])
        os.chroot(spec["root"])


def _find(program: str, env: dict[str, str]) -> str:
    """The program's path, as a container runtime looks for it: what cannot be run is passed over."""
    if "/" in program:
        return program
    for folder in env.get("PATH", "").split(":"):
        path = os.path.join(folder or ".", program)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(errno.ENOENT, "not in PATH")


def _share_cpus(count: int) -> None:
    """Lets this process run on some CPUs only, not always the same."""
    free = sorted(os.sched_getaffinity(0))
    if 0 < count < len(free):
        first = os.getpid() % len(free)
        os.sched_setaffinity(0, (free + free)[first : first + count])


def _become_user(uid: int, gid: int, groups: list[int]) -> None:
    for stream in range(3):  # /dev/stdout can be opened by those who own it
        if stat.S_ISFIFO(os.fstat(stream).st_mode) or os.isatty(stream):
            os.fchown(stream, uid, gid)
    os.setgroups(groups)
    os.setgid(gid)
    os.setuid(uid)


def _spawn(spec: dict[str, Any], fds: list[int], way: str) -> int:
    reading, writing = os.pipe2(os.O_CLOEXEC)
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _become(spec, fds, way, supervisor)
        except BaseException as error:  # this is the child: it tells why, and ends
            text = f"exec: {json.dumps(spec['program'])}: {_reason(error, spec['program'])}"
            os.write(writing, text.encode())
        os._exit(127)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        trouble = pipe.read()
    if trouble:
        os.waitpid(pid, 0)
        raise RuntimeError(trouble.decode())
    return pid


def _reason(error: BaseException, program: str) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or directory" if "/" in program else "executable file not found in $PATH"
    return str(error) or repr(error)


class Supervisor:
    def __init__(self, control: socket.socket, mark: str) -> None:
        self._control, self._mark = control, mark
        control.set_inheritable(False)
        self._pids: dict[int, int] = {}  # id -> pid
        self._ids: dict[int, int] = {}  # pid -> id
        self._way = ""

    def run(self) -> None:
        _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        ringing, ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(ring)
        self._sweep()
        self._way = _find_way()
        self._tell({"op": "hello", "mounts": self._way})
        while True:
            ready, _, _ = select.select([self._control.fileno(), ringing], [], [])
            if ringing in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(ringing, 4096)
                self._reap()
            if self._control.fileno() in ready and not self._serve():
                break
        self._end()

    def _serve(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._control, 65536, 8)
        if not data:
            return False
        message = json.loads(data)
        if message["op"] == "spawn":
            self._start(message["id"], fds)
        elif message["op"] == "kill":
            self._signal(message["id"], message["signal"])
        for fd in fds:
            os.close(fd)
        return True

    def _start(self, id: int, fds: list[int]) -> None:
        size = os.fstat(fds[0]).st_size
        spec = json.loads(os.pread(fds[0], size, 0))
        spec["env"] |= {CLUSTER_MARK: self._mark, CONTAINER_MARK: str(id)}
        try:
            pid = _spawn(spec, fds[1:4], self._way)
        except (RuntimeError, OSError) as error:
            self._tell({"op": "spawned", "id": id, "error": str(error)})
            return
        self._pids[id], self._ids[pid] = pid, id
        self._tell({"op": "spawned", "id": id, "pid": pid})

    def _signal(self, id: int, number: int) -> None:
        pid = self._pids.get(id)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, number)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                break
            id = self._ids.pop(pid, None)
            if id is not None:
                self._pids.pop(id, None)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
                self._tell({"op": "exit", "id": id, "status": status})
        self._end_orphans()

    def _end_orphans(self) -> None:
        """Ends processes whose container has ended."""
        for pid in _children():
            if pid in self._ids:
                continue
            mark = _marks(pid).get(CONTAINER_MARK)
            if mark is None or not mark.isdecimal() or int(mark) not in self._pids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def _end(self) -> None:
        for id in list(self._pids):
            self._signal(id, signal.SIGTERM)
        limit = time.monotonic() + GRACE
        while self._pids and time.monotonic() < limit:
            self._reap()
            time.sleep(0.01)
        for id in list(self._pids):
            self._signal(id, signal.SIGKILL)
        limit = time.monotonic() + GRACE
        while _children() and time.monotonic() < limit:
            self._pids.clear()
            self._reap()
            self._end_orphans()
            time.sleep(0.005)

    def _sweep(self) -> None:
        """Ends what an earlier supervisor of this cluster could not."""
        for name in os.listdir("/proc"):
            if name.isdecimal() and int(name) != os.getpid() and _marks(int(name)).get(CLUSTER_MARK) == self._mark:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(int(name), signal.SIGKILL)

    def _tell(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.send(json.dumps(message).encode())


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def _marks(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = file.read().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs) if name.startswith("JOBRELAY_")}


def _find_way() -> str:
    """How containers get mounts of their own on this machine; empty if not at all."""
    for way in ("root", "user"):
        pid = os.fork()
        if pid == 0:
            try:
                own_mounts(way)
            except BaseException:  # this is the child: it ends here, whatever happened
                os._exit(1)
            os._exit(0)
        if os.waitpid(pid, 0)[1] == 0:
            return way
    return ""


if __name__ == "__main__":
    Supervisor(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]).run()
