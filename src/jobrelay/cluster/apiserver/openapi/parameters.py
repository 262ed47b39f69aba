"""The parameters of requests: their names, types and texts, and which verb takes which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jobrelay.cluster.apiserver.openapi.definitions import META, Definitions


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter in the query or, when it is `required`, in the path."""

    name: str
    type: str
    text: str
    required: bool = False

    @property
    def place(self) -> str:
        return "path" if self.required else "query"


NAMESPACE: Final = Parameter(
    "namespace", "string", "object name and auth scope, such as for teams and projects", required=True
)
REST_OF_PATH: Final = Parameter("path", "string", "path to the resource", required=True)
PRETTY: Final = Parameter(
    "pretty", "string", "Indents the answer when it is 'true'. Browsers, curl and wget get indented answers by default."
)
_MANAGER: Final = "Who makes the change, as managedFields will show it: at most 128 printable characters."
_MANAGED: Final = (
    Parameter("fieldManager", "string", _MANAGER),
    Parameter(
        "fieldValidation", "string",
        "What happens to unknown and repeated fields: Ignore drops them silently, Warn (the default) drops them and "
        "says so in Warning headers, Strict refuses the request.",
    ),
)  # fmt: skip
_FORCE: Final = Parameter(
    "force", "boolean", "Whether an apply takes over fields that others manage. Only for apply patches."
)
_SELECTION: Final = (
    Parameter("continue", "string", "Where to go on: the token of the page before. Other parameters stay the same."),
    Parameter("fieldSelector", "string", "Restricts the objects by their fields."),
    Parameter("labelSelector", "string", "Restricts the objects by their labels."),
    Parameter("limit", "integer", "The most objects to answer with; if there are more, there is a `continue` token."),
    Parameter("resourceVersion", "string", "How recent the answer has to be, or for a watch: where it starts."),
    Parameter("resourceVersionMatch", "string", "What resourceVersion means for a list: NotOlderThan or Exact."),
    Parameter(
        "sendInitialEvents", "boolean",
        "Starts a watch with the objects that exist, followed by a bookmark. Needs resourceVersionMatch=NotOlderThan.",
    ),
    Parameter("timeoutSeconds", "integer", "Ends the call after this time, whatever happens."),
)  # fmt: skip
_WATCHING: Final = (
    Parameter("allowWatchBookmarks", "boolean", "Asks a watch for bookmarks, which tell how far it has come."),
    Parameter("watch", "boolean", "Answers with a stream of changes instead of a list."),
)
_DELETION: Final = (
    ("dryRun", "string"), ("gracePeriodSeconds", "integer"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    ("orphanDependents", "boolean"), ("propagationPolicy", "string"),
)  # fmt: skip
_STREAMS: Final = (
    Parameter("container", "string", "The container. A pod with one container needs none."),
    Parameter("stderr", "boolean", "Whether the answer carries standard error."),
    Parameter("stdin", "boolean", "Whether the request carries standard input."),
    Parameter("stdout", "boolean", "Whether the answer carries standard output."),
    Parameter("tty", "boolean", "Whether the streams belong to a terminal."),
)
CONNECTS: Final[dict[str, tuple[Parameter, ...]]] = {
    "attach": _STREAMS,
    "exec": (Parameter("command", "string", "The program to run, with its arguments; not a shell command."), *_STREAMS),
    "portforward": (Parameter("ports", "integer", "The ports to forward."),),
    "proxy": (Parameter("path", "string", "The path of the request that is passed on."),),
}
LOG: Final = (
    Parameter("container", "string", "The container. A pod with one container needs none."),
    Parameter("follow", "boolean", "Goes on as the log grows."),
    Parameter(
        "insecureSkipTLSVerifyBackend", "boolean", "Does not check the certificate of the node that has the log."
    ),
    Parameter("limitBytes", "integer", "Ends the answer after this many bytes."),
    PRETTY,
    Parameter("previous", "boolean", "Shows the log of the container before its last restart."),
    Parameter("sinceSeconds", "integer", "Only what was logged in the last seconds."),
    Parameter("stream", "string", "All, Stdout or Stderr."),
    Parameter("tailLines", "integer", "Only this many lines from the end."),
    Parameter("timestamps", "boolean", "Puts the time in front of every line."),
)


class Parameters:
    """The parameters of each verb. Where Kubernetes publishes a text, that one is used."""

    def __init__(self, definitions: Definitions) -> None:
        deletion = [Parameter(n, t, definitions.text(META + "DeleteOptions", n)) for n, t in _DELETION]
        self.read = (PRETTY,)
        self.read_custom = (next(p for p in _SELECTION if p.name == "resourceVersion"), PRETTY)
        self.write = (deletion[0], *_MANAGED, PRETTY)
        manager = Parameter("fieldManager", "string", f"{_MANAGER} An apply patch must have it.")
        self.patch = (deletion[0], manager, _MANAGED[1], _FORCE, PRETTY)
        self.list = (*_SELECTION, *_WATCHING, PRETTY)
        self.delete = (*deletion, PRETTY)
        self.deletecollection = (*deletion, *_SELECTION, PRETTY)
