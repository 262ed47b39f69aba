"""The parent process of all containers of a cluster; a program of its own that uses nothing but the standard library.

The cluster talks to it over one socket. It forks, sets up mounts, starts and signals programs, and reports their exit
codes. It is small, which makes forking cheap. It also makes sure that nothing is left behind: when the socket closes,
however the cluster ended, it ends every container and itself. If it is killed, the kernel ends the first process of
each container, and the next supervisor of the same cluster ends all other processes that carry the cluster's mark.

The first process of a container is the subreaper of the others, as process 1 of a container is: what it leaves behind
when it ends becomes a child of the supervisor, which ends every child that it has not started itself. So a process
belongs to its container by descent, whatever its session and its environment.

Requests: {"op": "spawn", "id": n} with descriptors of a JSON file, stdin, stdout and stderr;
{"op": "kill", "id": n, "signal": s}.
Replies: {"op": "hello", "mounts": "root" | "user" | ""}, {"op": "spawned", "id": n, "pid": p | "error": text},
{"op": "exit", "id": n, "status": s}.
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
GRACE = 1.0
_PDEATHSIG, _SUBREAPER, _NO_NEW_PRIVS = 1, 36, 38
_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_BIND, _REC, _PRIVATE, _RDONLY, _REMOUNT, _RELATIME = 4096, 16384, 1 << 18, 1, 32, 1 << 21
_SKIPPED_DEVICES = re.compile("(tty|vcs|loop|ram|nbd|md).+")  # not needed, and every mount takes time
_libc = ctypes.CDLL(None, use_errno=True)


class MountError(Exception):
    """The mounts of a container could not be set up."""


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, flags: int) -> None:
    _check(_libc.mount(source.encode(), target.encode(), None, flags, None), f"mount {source} at {target}")


def own_mounts(mode: str) -> None:
    """Gives this process its own mounts: as root, or in a user namespace."""
    uid, gid = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEWNS | (_NEWUSER if mode == "user" else 0)), "unshare")
    if mode == "user":
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


# The root folder of a container: the machine's own, with bind mounts over it.


def build_root(root: str, binds: list[list[Any]]) -> None:
    """Mounts the machine's root folder at `root`, and the source of each of `binds` at its target."""
    tree: dict[str, Any] = {}
    for volume, target, read_only, sub_path in binds:
        source = f"/proc/self/fd/{open_beneath(volume, sub_path)}" if sub_path else volume
        parts = [part for part in os.path.realpath(target).split("/") if part]
        if not parts:
            raise MountError("the mount path must not be the root folder")
        below = tree
        for part in parts[:-1]:
            below = below.setdefault(part, {})
            if isinstance(below, _BindMount):
                below = below.below
        known = below.get(parts[-1])
        below[parts[-1]] = _BindMount(source, read_only, known if isinstance(known, dict) else {})
    _mirror("/", root, tree)


class _BindMount:
    def __init__(self, source: str, read_only: bool, below: dict[str, Any]) -> None:
        self.source, self.read_only, self.below = source, read_only, below


def _mirror(host: str, target: str, tree: dict[str, Any]) -> None:
    """Mounts every entry of a folder in an empty one, except those that `tree` replaces; then mounts `tree`."""
    with contextlib.suppress(FileNotFoundError):
        # The folder that holds the target comes first, while nothing is mounted below it.
        for entry in sorted(os.scandir(host), key=lambda entry: not target.startswith(entry.path + "/")):
            if entry.name in tree or (host == "/dev" and _SKIPPED_DEVICES.fullmatch(entry.name)):
                continue
            place = os.path.join(target, entry.name)
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
            else:
                with contextlib.suppress(PermissionError):
                    _bind(entry.path, place)
    for name, what in tree.items():
        _mount_tree(os.path.join(host, name), os.path.join(target, name), what)


def _mount_tree(host: str, place: str, what: Any) -> None:
    if isinstance(what, _BindMount):
        _bind(what.source, place)
        for name, more in what.below.items():
            _mount_tree(os.path.join(what.source, name), _within_volume(place, name), more)
        if what.read_only:
            mount("none", place, _BIND | _REMOUNT | _RDONLY | _flags(place))
    elif _complete(host, what):
        _bind(host, place)
        for name, more in what.items():
            _mount_tree(os.path.join(host, name), os.path.join(place, name), more)
    else:
        os.makedirs(place, exist_ok=True)
        _mirror(host, place, what)


def _within_volume(place: str, name: str) -> str:
    """A mount point inside a volume. Its content is not ours: a link there could lead out of the container's root."""
    path = os.path.join(place, name)
    if os.path.islink(path):
        raise MountError(f"the mount point {name} is a symbolic link in another volume")
    return path


def open_beneath(root: str, path: str, *, make: bool = False) -> int:
    """Opens a path below a folder, and makes it as a folder if told to. Links are followed while they stay below.

    Each part of the resolved path is opened in the one before, without following links, so that a path that is
    exchanged meanwhile cannot lead elsewhere. Raises OSError.
    """
    top = os.path.realpath(root)
    resolved = os.path.realpath(os.path.join(top, path))
    if os.path.commonpath((top, resolved)) != top:
        raise OSError(errno.EXDEV, f"{path} leads out of its volume")
    found = os.open(top, os.O_PATH | os.O_DIRECTORY)
    for part in [part for part in os.path.relpath(resolved, top).split("/") if part != "."]:
        holder = found
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=holder)
            found = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=holder)
        finally:
            os.close(holder)
    if stat.S_ISLNK(os.fstat(found).st_mode):
        os.close(found)
        raise OSError(errno.ELOOP, f"{path} is a symbolic link")
    return found


def _flags(place: str) -> int:
    """The flags of a mount that a remount has to repeat."""
    held = os.statvfs(place).f_flag
    kept = held & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)
    return kept | (_RELATIME if held & os.ST_RELATIME else 0)


def _complete(host: str, tree: dict[str, Any]) -> bool:
    """Whether a folder already has an entry for every mount point in `tree`."""
    for name, what in tree.items():
        path = os.path.join(host, name)
        if not os.path.exists(path):
            return False
        if isinstance(what, _BindMount):
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


# Starting a container.


def _exec_container(spec: dict[str, Any], fds: list[int], mode: str, supervisor: int) -> None:
    """Executes the container's program in the forked child."""
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
        _change_root(spec, mode)
    except OSError as error:
        raise MountError(str(error)) from error
    _limit_cpus(spec["cpus"])
    os.chdir(spec.get("cwd") or "/")
    os.umask(0o022)
    if spec["user"]:
        _switch_user(*spec["user"])
    if spec["no_new_privileges"]:
        _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # after the change of user, which would undo it
    if os.getppid() != supervisor:
        os._exit(127)
    os.execve(_find(spec["program"], spec["env"]), spec["argv"], spec["env"])  # noqa: S606


def _change_root(spec: dict[str, Any], mode: str) -> None:
    if spec.get("join"):
        enter_mounts(spec["join"])
    elif spec.get("root") and mode:
        own_mounts(mode)
        build_root(spec["root"], spec["binds"])
        os.chroot(spec["root"])


def _find(program: str, env: dict[str, str]) -> str:
    """The program's path, found as a container runtime finds it: files that are not executable are skipped."""
    if "/" in program:
        return program
    for folder in env.get("PATH", "").split(":"):
        path = os.path.join(folder or ".", program)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(errno.ENOENT, "not in PATH")


def _limit_cpus(count: int) -> None:
    """Restricts this process to some of the CPUs, chosen by its id so that containers spread."""
    free = sorted(os.sched_getaffinity(0))
    if 0 < count < len(free):
        first = os.getpid() % len(free)
        os.sched_setaffinity(0, (free + free)[first : first + count])


def _switch_user(uid: int, gid: int, groups: list[int]) -> None:
    for stream in range(3):  # only its owner can open /dev/stdout
        if stat.S_ISFIFO(os.fstat(stream).st_mode) or os.isatty(stream):
            os.fchown(stream, uid, gid)
    os.setgroups(groups)
    os.setgid(gid)
    os.setuid(uid)


def _spawn(spec: dict[str, Any], fds: list[int], mode: str) -> int:
    reading, writing = os.pipe2(os.O_CLOEXEC)
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _exec_container(spec, fds, mode, supervisor)
        except BaseException as error:  # in the child: reports the error and exits
            text = f"exec: {json.dumps(spec['program'])}: {_reason(error, spec['program'])}"
            os.write(writing, text.encode())
        os._exit(127)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        failure = pipe.read()
    if failure:
        os.waitpid(pid, 0)
        raise RuntimeError(failure.decode())
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
        self._within: dict[int, int] = {}  # id of a program that runs in a container -> id of the container's own
        self._mount_mode = ""

    def run(self) -> None:
        _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        wakeup_reader, wakeup_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wakeup_writer)
        self._sweep()
        self._mount_mode = _find_mount_mode()
        self._send({"op": "hello", "mounts": self._mount_mode})
        while True:
            ready, _, _ = select.select([self._control.fileno(), wakeup_reader], [], [])
            if wakeup_reader in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(wakeup_reader, 4096)
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
        spec["env"] |= {CLUSTER_MARK: self._mark}
        try:
            if spec["within"] and spec["within"] not in self._pids:
                raise RuntimeError("container not running")
            pid = _spawn(spec, fds[1:4], self._mount_mode)
        except (RuntimeError, OSError) as error:
            self._send({"op": "spawned", "id": id, "error": str(error)})
            return
        self._pids[id], self._ids[pid] = pid, id
        if spec["within"]:
            self._within[id] = spec["within"]
        self._send({"op": "spawned", "id": id, "pid": pid})

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
                self._within.pop(id, None)
                for other in [other for other, container in self._within.items() if container == id]:
                    self._signal(other, signal.SIGKILL)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
                self._send({"op": "exit", "id": id, "status": status})
        self._end_orphans()

    def _end_orphans(self) -> None:
        """Kills what ended containers have left behind: all children that were not started here."""
        for pid in _children():
            if pid not in self._ids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    if (group := os.getpgid(pid)) not in self._ids and group != os.getpgrp():
                        os.killpg(group, signal.SIGKILL)
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
        """Kills processes that an earlier supervisor of this cluster left behind."""
        for name in os.listdir("/proc"):
            if name.isdecimal() and int(name) != os.getpid() and _mark(int(name)) == self._mark:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(int(name), signal.SIGKILL)

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.send(json.dumps(message).encode())


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def _mark(pid: int) -> str:
    """The cluster that a process was started by, as its environment says."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = file.read().decode(errors="replace").split("\0")
    except OSError:
        return ""
    return dict(pair.partition("=")[::2] for pair in pairs).get(CLUSTER_MARK, "")


def _find_mount_mode() -> str:
    """How containers can get their own mounts on this machine; empty if they cannot."""
    for mode in ("root", "user"):
        pid = os.fork()
        if pid == 0:
            try:
                own_mounts(mode)
            except BaseException:  # in the child: it exits here in any case
                os._exit(1)
            os._exit(0)
        if os.waitpid(pid, 0)[1] == 0:
            return mode
    return ""


if __name__ == "__main__":
    Supervisor(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]).run()
