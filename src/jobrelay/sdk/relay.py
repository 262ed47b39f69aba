"""A relay as its users see it: submit, wait, logs, explain, cancel, rerun. Asynchronous; `sdk.sync` is the same for
programs that are not. The commands are built on it, so what only some methods need is imported by those."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from jobrelay.kube import AlreadyExists, Client, Forbidden, NotFound, Object, connect, find_connection
from jobrelay.operate.errors import OperateError
from jobrelay.operate.files import files_of, read_file, read_objects
from jobrelay.operate.kinds import relay_adapters
from jobrelay.sdk.delegation import Submission, delegate
from jobrelay.sdk.errors import RelayError
from jobrelay.sdk.names import LEASE, SYSTEM_NAMESPACE, WorkloadName
from jobrelay.sdk.pod_logs import Emit, LogLine, LogOptions
from jobrelay.sdk.relay_api import RelayUnreachable, query_relay
from jobrelay.sdk.workloads import find_adapter, get_workload, is_delegated, not_served
from jobrelay.workloads import Adapter, AdapterConflict, GivenKind

__all__ = ["AsyncRelay", "SubmittedWorkload", "WorkloadLike", "WorkloadResult"]

POD_TIMEOUT: Final = 20.0
"""For how many seconds a pod that has not started is waited for, if its logs are not followed."""
WHOLE_LOGS: Final = LogOptions()


@dataclass(frozen=True, slots=True)
class SubmittedWorkload:
    """A workload that was created."""

    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """As commands name it: `job/train`."""
        return f"{self.kind.lower()}/{self.name}"


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """How a workload ended."""

    kind: str
    namespace: str
    name: str
    succeeded: bool
    reason: str = ""
    message: str = ""


WorkloadLike: TypeAlias = str | WorkloadName | SubmittedWorkload
"""`jobset/train`, the name of a Job, or what `submit` has returned."""


class AsyncRelay:
    """The relay of the management cluster that `client` reaches; `namespace` is that of the workloads.

    `kinds` are descriptions of workload kinds that the relay was given as files. Methods raise RelayError, and
    KubeError for what the management cluster answers.
    """

    def __init__(
        self,
        client: Client,
        namespace: str = "default",
        *,
        relay_namespace: str = SYSTEM_NAMESPACE,
        lease_name: str = LEASE,
        kinds: Sequence[GivenKind] = (),
    ) -> None:
        self.client, self.namespace = client, namespace
        self.relay_namespace, self.lease_name = relay_namespace, lease_name
        self._kinds = kinds
        self._adapters: tuple[Adapter, ...] = ()

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        kubeconfig: str | pathlib.Path | None = None,
        context: str | None = None,
        namespace: str | None = None,
        *,
        relay_namespace: str = SYSTEM_NAMESPACE,
        lease_name: str = LEASE,
    ) -> AsyncIterator[AsyncRelay]:
        """Connect as kubectl would: `async with AsyncRelay.connect() as relay: ...`."""
        connection = find_connection(kubeconfig, context)
        async with connect(connection) as client:
            where = namespace or connection.namespace
            yield cls(client, where, relay_namespace=relay_namespace, lease_name=lease_name)

    async def adapters(self) -> tuple[Adapter, ...]:
        """The adapters of all kinds that this relay may have."""
        if not self._adapters:
            try:
                self._adapters = await relay_adapters(self.client, self.relay_namespace, self._kinds)
            except AdapterConflict as error:
                hint = "remove one of the two: uninstall its package, or leave out its file"
                raise RelayError(str(error), hint) from None
        return self._adapters

    async def submit(self, manifest: Mapping[str, Any]) -> SubmittedWorkload:
        """Create a workload that the relay runs: managedBy is set to what its kind accepts, if it is not set."""
        return await self.create(delegate("the manifest", manifest, await self.adapters()))

    async def submit_file(self, path: str | pathlib.Path) -> list[SubmittedWorkload]:
        """Create all workloads of a YAML or JSON file, or of a folder; none if one of them cannot be delegated."""
        adapters = await self.adapters()
        files = files_of(pathlib.Path(path))
        found = [each for file in files for each in read_objects(str(file), read_file(file))]
        submissions = [delegate(where, manifest, adapters) for where, manifest in found]
        return [await self.create(each) for each in submissions]

    async def create(self, submission: Submission) -> SubmittedWorkload:
        """Create what `delegate` has made of a manifest."""
        made = await self._create(submission, dry_run=False)
        return SubmittedWorkload(submission.adapter.resource.kind, made.namespace, made.name, made.uid)

    async def _create(self, submission: Submission, *, dry_run: bool) -> Object:
        namespace = submission.body["metadata"].get("namespace") or self.namespace
        try:
            return await self.client.create(submission.resource, submission.body, namespace, dry_run=dry_run)
        except AlreadyExists:
            raise RelayError(
                f"{submission.adapter.resource.kind} {namespace}/{submission.body['metadata']['name']} exists already",
                f"choose another name, or `jobrelay rerun {submission.shown} -n {namespace}`",
            ) from None
        except NotFound as error:
            if error.status.details is None or not error.status.details.name:
                raise not_served(submission.adapter) from None
            raise

    async def preview(self, submission: Submission) -> dict[str, Any]:
        """What the relay would decide about it, with the verdict on each worker; nothing is created."""
        adapter, made = submission.adapter, await self._create(submission, dry_run=True)
        try:
            found = await query_relay(self.client, self, f"/preview/{adapter.resource}", body=made.raw)
        except RelayUnreachable as error:
            raise RelayError(f"only the relay can say which workers could take it: {error}") from None
        if found is None:
            raise RelayError(f"the relay does not run {adapter.resource}", "give it the description of the kind too")
        shown: dict[str, Any] = found
        return shown

    async def wait(
        self,
        workload: WorkloadLike,
        within: float | None = None,
        *,
        note: Callable[[str], None] = lambda _: None,
    ) -> WorkloadResult:
        """Wait for the end of a workload, for so many seconds at most; raises WaitTimeout.

        `note` is called with why it waits, where it was placed, and when it moves.
        """
        from jobrelay.sdk.explaining import sentence_of
        from jobrelay.sdk.following import until_end
        from jobrelay.sdk.progress import WorkloadProgress

        adapter, name, namespace = await self.find(workload)

        async def why() -> str:
            return await sentence_of(self.client, self, adapter, name, namespace)

        async with WorkloadProgress(adapter, f"{adapter.resource.kind.lower()}/{name}", why, note) as progress:
            found = await until_end(self.client, adapter, name, namespace, within=within, on_change=progress.update)
        end = adapter.read(found).end
        assert end is not None
        return WorkloadResult(adapter.resource.kind, namespace, name, end.succeeded, end.reason, end.message)

    async def logs(
        self,
        workload: WorkloadLike,
        options: LogOptions = WHOLE_LOGS,
        *,
        within: float = POD_TIMEOUT,
        note: Callable[[str], None] = lambda _: None,
    ) -> AsyncGenerator[LogLine, None]:
        """The lines of a workload's pods, from the worker that runs it or ran it last.

        With `follow` in the options they end with the workload, whatever worker it moves to. Otherwise a pod that has
        not started is waited for `within` so many seconds. For users that may not reach the worker, the relay reads
        them; their lines do not name the worker.
        """
        lines: asyncio.Queue[LogLine | Exception | None] = asyncio.Queue(1)
        producing = asyncio.create_task(_produce(self._read_logs(workload, options, within, note, lines.put), lines))
        try:
            while (line := await lines.get()) is not None:
                if isinstance(line, Exception):
                    raise line
                yield line
        finally:
            producing.cancel()
            await asyncio.wait({producing})

    async def _read_logs(
        self, workload: WorkloadLike, options: LogOptions, within: float, note: Callable[[str], None], emit: Emit
    ) -> None:
        from jobrelay.operate.relay_client import NotServed
        from jobrelay.sdk.api_logs import ApiLogs
        from jobrelay.sdk.workload_logs import WorkloadLogs

        adapter, name, namespace = await self.find(workload)
        source = WorkloadLogs(self.client, self, adapter, name, namespace, options, note)
        try:
            await (source.follow(emit) if options.follow else source.read(emit, within))
        except (Forbidden, OperateError) as error:
            try:
                await ApiLogs(self.client, adapter, name, namespace, options, note).read(emit, within)
            except NotServed:
                raise error from None

    async def explain(self, workload: WorkloadLike, changes: Sequence[str] = ()) -> dict[str, Any]:
        """Why a workload is where it is, as the relay says it.

        With `changes` (`quota.cpu=+10`) also what would become of a queued one after them.
        """
        from jobrelay.sdk.explaining import explain_workload

        adapter, name, namespace = await self.find(workload)
        return await explain_workload(self.client, self, adapter, name, namespace, changes)

    async def cancel(self, workload: WorkloadLike) -> bool:
        """Delete a workload, and with it what runs on its worker; False, and nothing is done, if it has ended."""
        adapter, name, namespace = await self.find(workload)
        found = await self._delegated(adapter, name, namespace)
        if adapter.read(found).end is not None:
            return False
        await self.client.delete(adapter.resource, name, namespace, propagation="Background", uid=found.uid)
        return True

    async def rerun(self, workload: WorkloadLike, name: str = "") -> SubmittedWorkload:
        """Create a new workload from one that has ended, under a name that the server makes if none is given."""
        from jobrelay.sdk.rerun import rerun_manifest

        adapter, old, namespace = await self.find(workload)
        found = await self._delegated(adapter, old, namespace)
        if adapter.read(found).end is None:
            raise RelayError(
                f"{adapter.resource.kind} {found.key} has not ended yet",
                f"wait for it: `jobrelay wait {adapter.resource.kind.lower()}/{old} -n {namespace}`",
            )
        return await self.create(Submission(adapter, rerun_manifest(adapter, found, name)))

    async def find(self, workload: WorkloadLike) -> tuple[Adapter, str, str]:
        """The adapter, name and namespace of a workload."""
        if isinstance(workload, SubmittedWorkload):
            return find_adapter(workload.kind, await self.adapters()), workload.name, workload.namespace
        named = WorkloadName.parse(workload) if isinstance(workload, str) else workload
        return find_adapter(named.kind, await self.adapters()), named.name, self.namespace

    async def _delegated(self, adapter: Adapter, name: str, namespace: str) -> Object:
        found = await get_workload(self.client, adapter, name, namespace)
        if not is_delegated(adapter, adapter.read(found)):
            kind = adapter.resource.kind
            hint = "use kubectl for what the relay does not run"
            raise RelayError(f"{kind} {found.key} is not delegated to the relay", hint)
        return found


async def _produce(reading: Coroutine[Any, Any, None], lines: asyncio.Queue[LogLine | Exception | None]) -> None:
    """Reads to the end; what went wrong is raised where the lines are consumed."""
    try:
        await reading
    except Exception as error:
        await lines.put(_cause(error))
    else:
        await lines.put(None)


def _cause(error: Exception) -> Exception:
    """What a group of tasks has failed by, if that is one thing."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
