"""One container as a local process: its runs, from the first to the one after which it is not started again."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pathlib
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver.streams import LogOptions
from jobrelay.cluster.node.life import backoff
from jobrelay.cluster.node.process.care import Care
from jobrelay.cluster.node.process.environment import ConfigMissing, command_line, container_env, service_env
from jobrelay.cluster.node.process.launcher import Process, Program, StartError
from jobrelay.cluster.node.process.logs import LogFile, read_log
from jobrelay.cluster.node.process.memory import Limit
from jobrelay.cluster.node.process.redirect import Redirect
from jobrelay.cluster.node.process.security import identity, keeps_privileges
from jobrelay.cluster.node.process.stdio import Stdio
from jobrelay.cluster.node.process.volumes import mount_points
from jobrelay.cluster.node.status import RUNNING, TERMINATED, WAITING, ContainerRun, terminated
from jobrelay.kube.errors import KubeError

if TYPE_CHECKING:
    from jobrelay.cluster.node.process.pod import PodWorker

LONGEST_MESSAGE: Final = 4096
FALLBACK_LINES: Final = 80
FALLBACK_BYTES: Final = 2048
START_FAILED: Final = 128
CONFIG_RETRY: Final = 2.0
CALM: Final = 600.0  # a run of this length makes the next back-off start anew
_PAUSE: Final = "trap 'exit 0' TERM INT; sleep infinity & wait"
_DRAIN: Final = 2.0


def default_command(image: str) -> list[str]:
    """What a container without a command runs: images are not pulled, so nobody knows what theirs would be."""
    repository = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return ["/bin/sh", "-c", _PAUSE] if repository.startswith("pause") else ["true"]


class Container:
    """Runs one container of a pod again and again, as its policy says."""

    def __init__(self, pod: PodWorker, spec: Mapping[str, Any], run: ContainerRun) -> None:
        self.pod, self.spec, self.run = pod, spec, run
        self.process: Process | None = None
        self.log: LogFile | None = None
        self.stdio: Stdio | None = None
        self.env: dict[str, str] = {}
        self.up = asyncio.Event()  # set when the container has started, by its start-up probe too, or will not any more
        self._settled = asyncio.Event()  # not set while a process is being started
        self._settled.set()
        self._stopping = self._killed = self._out_of_memory = False
        self._crashes = 0
        self._folder = pod.folder / "containers" / run.name
        self._message: pathlib.Path | None = None

    @property
    def cwd(self) -> str:
        return self.spec.get("workingDir") or ("/" if self.pod.host.launcher.mounts else str(self.pod.folder))

    async def live(self, *, until_success: bool = False) -> int:
        """Runs the container until it is not to be started again; returns its last exit code."""
        try:
            return await self._live(until_success)
        finally:
            self.up.set()

    async def _live(self, until_success: bool) -> int:
        while True:
            began = self.pod.host.clock.monotonic()
            code = await self._once()
            if self._stopping or self.pod.stopping.is_set() or not self.pod.restarts(self.spec, code, until_success):
                return code
            if self.pod.host.clock.monotonic() - began >= CALM:
                self._crashes = 0
            await self._back_off()
            if self._stopping or self.pod.stopping.is_set():
                return code

    async def stop(self, grace: float) -> None:
        """Ends the container: its hook, TERM, and KILL when its time is over."""
        self._stopping = True
        deadline = asyncio.get_running_loop().time() + grace
        await self._settled.wait()
        process = self.process
        if process is None or process.exited.done():
            return
        hook = ((self.spec.get("lifecycle") or {}).get("preStop")) or {}
        if hook and grace > 0:
            await Care(self).hook(hook, "PreStop", grace)
        number = (
            signal.Signals[self.spec["lifecycle"]["stopSignal"]]
            if (self.spec.get("lifecycle") or {}).get("stopSignal")
            else signal.SIGTERM
        )
        if grace > 0:
            self.pod.host.launcher.signal(process, number)
            await asyncio.wait({process.exited}, timeout=max(deadline - asyncio.get_running_loop().time(), 0.0))
        if not process.exited.done():
            self.pod.host.launcher.signal(process, signal.SIGKILL)
            await asyncio.wait({process.exited})

    def kill(self) -> None:
        """Ends the container at once."""
        self._stopping = self._killed = True
        if self.process is not None:
            self.pod.host.launcher.signal(self.process, signal.SIGKILL)

    async def execute(self, argv: list[str], within: float) -> tuple[int, str]:
        """Runs a command in the container and returns its exit code and output. Raises TimeoutError."""
        reading, writing = os.pipe()
        try:
            process = await self.spawn(argv, os.devnull, writing)
        except StartError as error:
            os.close(reading)
            return 126, str(error)
        finally:
            os.close(writing)
        output = asyncio.ensure_future(_read_all(reading))
        try:
            async with asyncio.timeout(within):
                return await asyncio.shield(process.exited), (await output).decode(errors="replace")
        except TimeoutError:
            self.pod.host.launcher.signal(process, signal.SIGKILL)
            raise TimeoutError(f"command timed out after {within:g}s") from None
        finally:
            output.cancel()

    async def spawn(
        self, argv: list[str], stdin: str | int, stdout: int, stderr: int | None = None, *, tty: bool = False
    ) -> Process:
        """Starts a further program among the container's mounts and variables. Raises StartError."""
        process = self.process
        if process is None or process.exited.done():
            raise StartError("container not running")
        join = process.pid if self.pod.host.launcher.mounts else 0
        program = self._program(argv, join=join, tty=tty)
        opened = os.open(stdin, os.O_RDONLY) if isinstance(stdin, str) else stdin
        try:
            return await self.pod.host.launcher.spawn(program, opened, stdout, stdout if stderr is None else stderr)
        finally:
            if isinstance(stdin, str):
                os.close(opened)

    # One run.

    async def _once(self) -> int:
        argv = await self._ready_to_start()
        if argv is None or self._stopping:
            return START_FAILED
        if self.run.state.get(TERMINATED) or self.run.last:
            self.run.last = self.run.state.get(TERMINATED) or self.run.last
            self.run.restarts += 1
        self.run.id = f"jobrelay://{self.pod.uid}/{self.run.name}/{self.run.restarts}"
        self.log = self.pod.logs.open(self.run.name, self.run.restarts)
        self.stdio = Stdio(self.log, self.spec)
        try:
            return await self._run(argv, self.stdio)
        finally:
            self.stdio.end()
            self.log.close()

    async def _run(self, argv: list[str], stdio: Stdio) -> int:
        self._settled.clear()
        try:
            self.process = await self._start(argv, stdio)
        except StartError as error:
            self._ended(START_FAILED, "", "StartError", f"failed to create containerd task: {error}")
            self.pod.warn("Failed", f"Error: {error}", self.run.name)
            return START_FAILED
        finally:
            self._settled.set()
        if self._killed:
            self.kill()
        code = await self._attend(self.process)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN):
                await stdio.drained()
        self._ended(code, self.run.state[RUNNING]["startedAt"], "OOMKilled" if self._out_of_memory else "")
        return code

    async def _ready_to_start(self) -> list[str] | None:
        """The command line, once everything it needs is there; None when the pod is stopped before."""
        host, pod, objects = self.pod.host, self.pod.object, self.pod.objects
        while not self.pod.stopping.is_set():
            try:
                linked = pod["spec"].get("enableServiceLinks", True)
                base = service_env(await objects.services() if linked else ()) | host.base_env(pod)
                self.env = await container_env(pod, self.spec, objects, base, host.capacity)
            except (ConfigMissing, KubeError) as missing:
                self.run.state = {WAITING: {"reason": "CreateContainerConfigError", "message": str(missing)}}
                self.pod.changed()
                self.pod.warn("Failed", f"Error: {missing}", self.run.name)
                await self.pod.pause(CONFIG_RETRY)
                continue
            argv = command_line(self.spec, self.env)
            if argv[:1] == ["pause"] and not self.spec.get("command"):
                argv = default_command("pause")
            return argv or default_command(self.run.image)
        return None

    async def _start(self, argv: list[str], stdio: Stdio) -> Process:
        try:
            program = self._program(argv, join=0, tty=stdio.tty, own_root=True)
            return await self.pod.host.launcher.spawn(program, *await stdio.open())
        finally:
            stdio.release()

    def _program(self, argv: list[str], *, join: int, tty: bool, own_root: bool = False) -> Program:
        host = self.pod.host
        made = Program(
            argv, self.env, self.cwd, join=join, tty=tty, user=identity(self.pod.object, self.spec),
            cpus=self._cpus(), keeps_privileges=keeps_privileges(self.spec),
        )  # fmt: skip
        points = mount_points(self.spec, self.pod.places, self.env)
        if not host.launcher.mounts:
            self._without_mounts(made, points, str(self._message_file() if own_root else self._message))
        elif own_root:
            made.root = str(self._folder / f"root-{self.run.restarts}")
            pathlib.Path(made.root).mkdir(parents=True, exist_ok=True)
            made.binds = [*points, *self._own_files()]
        return made

    def _without_mounts(self, made: Program, points: Sequence[tuple[str, str, bool]], words: str) -> None:
        """Lets a program find its volumes all the same: by variables, and by paths in what it is told."""
        places = {target: source for source, target, _ in points} | {self._words: words}
        moved = Redirect(places, keep=str(self.pod.host.folder))
        named = zip(self.spec.get("volumeMounts") or (), points, strict=True)
        made.argv, made.cwd = [moved(part) for part in made.argv], moved(made.cwd)
        made.env = {name: moved(value) for name, value in self.env.items()}
        made.env |= {_variable(mount["name"]): source for mount, (source, _, _) in named} | {"TERMINATION_LOG": words}
        if self.pod.host.bash and os.path.basename(made.argv[0]) == "sh":
            made.program = self.pod.host.bash

    @property
    def _words(self) -> str:
        """Where the container leaves its last words."""
        return self.spec.get("terminationMessagePath") or "/dev/termination-log"

    def _own_files(self) -> list[tuple[str, str, bool]]:
        """What every container has at places of its own: a file for its last words, and a shell that is not dash."""
        files = [(str(self._message_file()), self._words, False)]
        shell, bash = os.path.realpath("/bin/sh"), self.pod.host.bash
        if bash and os.path.basename(shell) not in ("bash", "busybox"):
            files.append((os.path.realpath(bash), shell, True))
        return files

    def _cpus(self) -> int:
        """On how many CPUs the container may run at the same time; 0 for all."""
        limit = ((self.spec.get("resources") or {}).get("limits") or {}).get("cpu")
        return math.ceil(quantity.number(limit)) if limit is not None else 0

    def _message_file(self) -> pathlib.Path:
        self._message = self._folder / f"termination-log-{self.run.restarts}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._message.touch()
        self._message.chmod(0o666)
        return self._message

    async def _attend(self, process: Process) -> int:
        """Watches over a running process until it ends."""
        self.run.state = {RUNNING: {"startedAt": format_time(self.pod.host.clock.now())}}
        self.pod.tell("Started", "Container started", self.run.name)
        startup = self.spec.get("startupProbe")
        self.run.started, self.run.ready = not startup, not startup and not self.spec.get("readinessProbe")
        if self.run.started:
            self.up.set()
        self.pod.changed()
        forget = self._limit_memory(process)
        care = Care(self)
        tasks = [asyncio.create_task(care.after_start()), asyncio.create_task(care.probe())]
        waiting: set[asyncio.Future[Any]] = {process.exited, *tasks}
        try:
            while not process.exited.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    one.result()
            return process.exited.result()
        finally:
            forget()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _limit_memory(self, process: Process) -> Callable[[], None]:
        """Has the container ended when it holds more memory than it may; returns how to stop that."""
        self._out_of_memory = False
        text = ((self.spec.get("resources") or {}).get("limits") or {}).get("memory")
        if text is None:
            return lambda: None

        def exceeded() -> None:
            self._out_of_memory = True
            self.pod.host.launcher.signal(process, signal.SIGKILL)

        return self.pod.host.memory.add(Limit(process.pid, int(quantity.number(text)), exceeded))

    def _ended(self, code: int, started: str, reason: str = "", message: str = "") -> None:
        now = format_time(self.pod.host.clock.now())
        message = message or self._last_words(code)
        state = terminated(code, started=started or now, finished=now, reason=reason, message=message, id=self.run.id)
        self.run.state = {TERMINATED: state}
        self.run.ready = self.run.started = False
        self.pod.changed()

    def _last_words(self, code: int) -> str:
        """What the container left in its termination message file, or at the end of its log if it failed."""
        text = b""
        if self._message is not None and self._message.exists():
            text = self._message.read_bytes()[:LONGEST_MESSAGE]
        fallback = self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        if not text and fallback and code and self.log is not None:
            text = read_log(self.log.path, LogOptions(tail=FALLBACK_LINES))[-FALLBACK_BYTES:]
        return text.decode(errors="replace")

    async def _back_off(self) -> None:
        pause = backoff(self._crashes)
        self._crashes += 1
        if pause <= 0:
            return
        self.run.last = self.run.state.get(TERMINATED) or self.run.last
        where = f"{self.pod.object['metadata']['name']}_{self.pod.object['metadata']['namespace']}({self.pod.uid})"
        text = f"back-off {_go_duration(pause)} restarting failed container={self.run.name} pod={where}"
        self.run.state = {WAITING: {"reason": "CrashLoopBackOff", "message": text}}
        self.pod.changed()
        self.pod.warn("BackOff", f"Back-off restarting failed container {self.run.name} in pod {where}", self.run.name)
        await self.pod.pause(pause)


def _variable(volume: str) -> str:
    """Where containers without mounts of their own find a volume."""
    return f"JOBRELAY_MOUNT_{volume.upper().replace('-', '_')}"


def _go_duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


async def _read_all(reading: int) -> bytes:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", 0)
    )
    try:
        return await reader.read()
    finally:
        transport.close()
