"""One container as a local process, with its restarts."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pathlib
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.apiserver.streams import PodLogOptions
from jobrelay.cluster.node.containerrun import ContainerRun
from jobrelay.cluster.node.process.environment import ConfigMissing, command_line, container_env, service_env
from jobrelay.cluster.node.process.launcher import BindMount, Process, Program, StartError
from jobrelay.cluster.node.process.lifecycle import ContainerLifecycle
from jobrelay.cluster.node.process.logs import LogFile, read_log
from jobrelay.cluster.node.process.oomkiller import MemoryLimit
from jobrelay.cluster.node.process.pathrewriter import PathRewriter
from jobrelay.cluster.node.process.podsandbox import PodSandbox
from jobrelay.cluster.node.process.security import no_new_privileges, process_user
from jobrelay.cluster.node.process.stdio import Stdio, open_reader
from jobrelay.cluster.node.process.volumes import bind_mounts
from jobrelay.cluster.node.scriptedpod import backoff
from jobrelay.kube.errors import KubeError

LONGEST_MESSAGE: Final = 4096
FALLBACK_LINES: Final = 80
FALLBACK_BYTES: Final = 2048
START_FAILED: Final = 128
CONFIG_RETRY: Final = 2.0
BACKOFF_RESET: Final = 600.0  # a run of this length resets the back-off
_PAUSE: Final = "trap 'exit 0' TERM INT; sleep infinity & wait"
_DRAIN: Final = 2.0


def default_command(image: str) -> list[str]:
    """The command of a container that names none: images are not pulled, so theirs is unknown."""
    return ["/bin/sh", "-c", _PAUSE] if _pauses(image) else ["true"]


def _pauses(image: str) -> bool:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0].startswith("pause")


def runs_nothing(container: Mapping[str, Any]) -> bool:
    """Whether a container leaves what it runs to its image, which is not there."""
    return not (container.get("command") or container.get("args") or _pauses(container.get("image", "")))


class Container:
    """Runs one container of a pod, and restarts it as its restart policy says."""

    def __init__(self, pod: PodSandbox, spec: Mapping[str, Any], run: ContainerRun) -> None:
        self.pod, self.spec, self.run = pod, spec, run
        self.process: Process | None = None
        self.log: LogFile | None = None
        self.stdio: Stdio | None = None
        self.env: dict[str, str] = {}
        self.started = asyncio.Event()  # set when it has started and passed its startup probe, or never will
        self._not_spawning = asyncio.Event()
        self._not_spawning.set()
        self._lifecycle = ContainerLifecycle(pod, spec, run, self.started, self.execute, self._end_run)
        self._stopping = self._killed = self._out_of_memory = False
        self._crashes = 0
        self._folder = pod.folder / "containers" / run.name
        self._message_path: pathlib.Path | None = None

    @property
    def cwd(self) -> str:
        return self.spec.get("workingDir") or ("/" if self.pod.host.launcher.mounts else str(self.pod.folder))

    async def run_to_end(self, *, until_success: bool = False) -> int:
        """Runs the container until it is not restarted any more; returns its last exit code."""
        try:
            return await self._run_to_end(until_success)
        finally:
            self.started.set()

    async def _run_to_end(self, until_success: bool) -> int:
        while True:
            began = self.pod.host.clock.monotonic()
            code = await self._run_once()
            if self._stopping or self.pod.stopping.is_set() or not self.pod.restarts(self.spec, code, until_success):
                return code
            if self.pod.host.clock.monotonic() - began >= BACKOFF_RESET:
                self._crashes = 0
            await self._back_off()
            if self._stopping or self.pod.stopping.is_set():
                return code

    async def stop(self, grace: float) -> None:
        """Stops the container: preStop hook, TERM, and KILL at the end of the grace period."""
        self._stopping = True
        deadline = asyncio.get_running_loop().time() + grace
        await self._not_spawning.wait()
        process = self.process
        if process is None or process.exited.done():
            return
        lifecycle = self.spec.get("lifecycle") or {}
        if grace > 0:
            if hook := lifecycle.get("preStop"):
                await self._lifecycle.hook(hook, "PreStop", grace)
            self.pod.host.launcher.signal(process, signal.Signals[lifecycle.get("stopSignal") or "SIGTERM"])
            await asyncio.wait({process.exited}, timeout=max(deadline - asyncio.get_running_loop().time(), 0.0))
        if not process.exited.done():
            self.pod.host.launcher.signal(process, signal.SIGKILL)
            await asyncio.wait({process.exited})

    def kill(self) -> None:
        """Kills the container at once."""
        self._stopping = self._killed = True
        if self.process is not None:
            self.pod.host.launcher.signal(self.process, signal.SIGKILL)

    async def _end_run(self, grace: float) -> None:
        """Ends this run; the restart policy decides whether there is another."""
        process = self.process
        if process is not None:
            self.pod.host.launcher.signal(process, signal.SIGTERM)
            await asyncio.sleep(grace)
            self.pod.host.launcher.signal(process, signal.SIGKILL)

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
        """Starts another program with the container's mounts and environment. Raises StartError."""
        process = self.process
        if process is None or process.exited.done():
            raise StartError("container not running")
        join = process.pid if self.pod.host.launcher.mounts else 0
        program = self._program(argv, join=join, tty=tty)
        program.within = process.id
        opened = os.open(stdin, os.O_RDONLY) if isinstance(stdin, str) else stdin
        try:
            return await self.pod.host.launcher.spawn(program, opened, stdout, stdout if stderr is None else stderr)
        finally:
            if isinstance(stdin, str):
                os.close(opened)

    # One run.

    async def _run_once(self) -> int:
        argv = await self._prepare()
        if argv is None or self._stopping:
            return START_FAILED
        self.run.prepare(self.pod.uid)
        self.log = self.pod.logs.open(self.run.name, self.run.restarts)
        self.stdio = Stdio(self.log, self.spec)
        try:
            return await self._run(argv, self.stdio)
        finally:
            self.stdio.end()
            self.log.close()

    async def _run(self, argv: list[str], stdio: Stdio) -> int:
        self._not_spawning.clear()
        try:
            self.process = await self._start(argv, stdio)
        except StartError as error:
            self._ended(START_FAILED, "StartError", f"failed to create containerd task: {error}")
            self.pod.warn("Failed", f"Error: {error}", self.run.name)
            return START_FAILED
        finally:
            self._not_spawning.set()
        if self._killed:
            self.kill()
        code = await self._wait(self.process)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN):
                await stdio.drained()
        self._ended(code, "OOMKilled" if self._out_of_memory else "")
        return code

    async def _prepare(self) -> list[str] | None:
        """The command line, once all objects it refers to exist; None if the pod is stopped before."""
        host, pod, objects = self.pod.host, self.pod.object, self.pod.objects
        while not self.pod.stopping.is_set():
            try:
                linked = pod["spec"].get("enableServiceLinks", True)
                base = service_env(await objects.services() if linked else ()) | host.base_env(pod)
                self.env = await container_env(pod, self.spec, objects, base, host.capacity)
            except (ConfigMissing, KubeError) as missing:
                self.run.wait("CreateContainerConfigError", str(missing))
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
            argv, self.env, self.cwd, join=join, tty=tty, user=process_user(self.pod.object, self.spec),
            cpus=self._cpus(), no_new_privileges=no_new_privileges(self.spec),
        )  # fmt: skip
        binds = bind_mounts(self.spec, self.pod.mount_sources, self.env) if own_root or not host.launcher.mounts else []
        if not host.launcher.mounts:
            self._rewrite_paths(made, binds, str(self._message_file() if own_root else self._message_path))
        elif own_root:
            made.root = str(self._folder / f"root-{self.run.restarts}")
            pathlib.Path(made.root).mkdir(parents=True, exist_ok=True)
            made.binds = [*binds, *self._own_files()]
        return made

    def _rewrite_paths(self, made: Program, binds: Sequence[BindMount], message_path: str) -> None:
        """Without mounts a program finds its volumes through variables, and through rewritten paths in its command."""
        paths = {bind.target: bind.path for bind in binds} | {self._message_target: message_path}
        rewrite = PathRewriter(paths, keep=str(self.pod.host.folder))
        named = zip(self.spec.get("volumeMounts") or (), binds, strict=True)
        made.argv, made.cwd = [rewrite(part) for part in made.argv], rewrite(made.cwd)
        made.env = {name: rewrite(value) for name, value in self.env.items()}
        made.env |= {f"JOBRELAY_MOUNT_{mount['name'].upper().replace('-', '_')}": bind.path for mount, bind in named}
        made.env["TERMINATION_LOG"] = message_path
        if self.pod.host.bash and os.path.basename(made.argv[0]) == "sh":
            made.program = self.pod.host.bash

    @property
    def _message_target(self) -> str:
        """The path of the termination message file in the container."""
        return self.spec.get("terminationMessagePath") or "/dev/termination-log"

    def _own_files(self) -> list[BindMount]:
        """Files that are mounted into every container: its termination message, and bash as a shell instead of dash."""
        files = [BindMount(str(self._message_file()), self._message_target)]
        shell, bash = os.path.realpath("/bin/sh"), self.pod.host.bash
        if bash and os.path.basename(shell) not in ("bash", "busybox"):
            files.append(BindMount(os.path.realpath(bash), shell, True))
        return files

    def _cpus(self) -> int:
        """How many CPUs the container may use; 0 for all."""
        limit = ((self.spec.get("resources") or {}).get("limits") or {}).get("cpu")
        return math.ceil(quantity.number(limit)) if limit is not None else 0

    def _message_file(self) -> pathlib.Path:
        self._message_path = path = self._folder / f"termination-log-{self.run.restarts}"
        self._folder.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.chmod(0o666)
        return path

    async def _wait(self, process: Process) -> int:
        """Runs hooks, probes and the memory limit until the process exits."""
        started = not self.spec.get("startupProbe")
        ready = started and not self.spec.get("readinessProbe")
        self.run.start(format_time(self.pod.host.clock.now()), started=started, ready=ready)
        self.pod.event("Started", "Container started", self.run.name)
        if self.run.started:
            self.started.set()
        self.pod.changed()
        remove_limit = self._limit_memory(process)
        tasks = [asyncio.create_task(self._lifecycle.post_start()), asyncio.create_task(self._lifecycle.probe())]
        waiting: set[asyncio.Future[Any]] = {process.exited, *tasks}
        try:
            while not process.exited.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    one.result()
            return process.exited.result()
        finally:
            remove_limit()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _limit_memory(self, process: Process) -> Callable[[], None]:
        """Has the container killed when it exceeds its memory limit; returns a function that ends this."""
        self._out_of_memory = False
        text = ((self.spec.get("resources") or {}).get("limits") or {}).get("memory")
        if text is None:
            return lambda: None

        def exceeded() -> None:
            self._out_of_memory = True
            self.pod.host.launcher.signal(process, signal.SIGKILL)

        return self.pod.host.oom_killer.add(MemoryLimit(process.pid, int(quantity.number(text)), exceeded))

    def _ended(self, code: int, reason: str = "", message: str = "") -> None:
        now = format_time(self.pod.host.clock.now())
        self.run.terminate(code, now, reason, message or self._termination_message(code))
        self.pod.changed()

    def _termination_message(self, code: int) -> str:
        """The content of the termination message file, or the end of the log as the policy allows."""
        text = b""
        if self._message_path is not None and self._message_path.exists():
            with self._message_path.open("rb") as file:
                text = file.read(LONGEST_MESSAGE)
        fallback = self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        if not text and fallback and code and self.log is not None:
            text = read_log(self.log.path, PodLogOptions(tail=FALLBACK_LINES))[-FALLBACK_BYTES:]
        return text.decode(errors="replace")

    async def _back_off(self) -> None:
        pause = backoff(self._crashes)
        self._crashes += 1
        if pause <= 0:
            return
        where = f"{self.pod.object['metadata']['name']}_{self.pod.object['metadata']['namespace']}({self.pod.uid})"
        self.run.back_off(f"back-off {_go_duration(pause)} restarting failed container={self.run.name} pod={where}")
        self.pod.changed()
        self.pod.warn("BackOff", f"Back-off restarting failed container {self.run.name} in pod {where}", self.run.name)
        await self.pod.pause(pause)


def _go_duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


async def _read_all(reading: int) -> bytes:
    reader, transport = await open_reader(reading)
    try:
        return await reader.read()
    finally:
        transport.close()
