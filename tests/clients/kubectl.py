"""The real kubectl as a subprocess: where it is found, and what one call of it gives back."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

LEAST = (1, 32)
SECONDS = 60


def named_kubectls() -> list[str]:
    """Those named in $KUBECTL (a path, or several as in $PATH), else the one on PATH."""
    named = os.environ.get("KUBECTL") or shutil.which("kubectl") or ""
    return [path for path in named.split(os.pathsep) if path]


def version(program: str) -> tuple[int, ...]:
    answer = subprocess.run([program, "version", "--client", "-o", "json"], capture_output=True, text=True, check=True)
    found = json.loads(answer.stdout)["clientVersion"]
    return tuple(int(re.sub(r"\D", "", found[part])) for part in ("major", "minor"))


@dataclass(frozen=True)
class Kubectl:
    """Calling it runs kubectl and gives stdout; a failure is an AssertionError that shows stderr."""

    program: pathlib.Path
    kubeconfig: pathlib.Path
    home: pathlib.Path
    namespace: str = "default"
    editor: str = "false"

    def within(self, namespace: str) -> Kubectl:
        return replace(self, namespace=namespace)

    def using(self, kubeconfig: pathlib.Path) -> Kubectl:
        return replace(self, kubeconfig=kubeconfig)

    def using_editor(self, command: str) -> Kubectl:
        return replace(self, editor=command)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        return {**kept, "HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), "EDITOR": self.editor}

    def command(self, *arguments: str) -> list[str]:
        return [str(self.program), f"--namespace={self.namespace}", *arguments]

    def run(self, *arguments: str, given: Any = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), input=_text(given), capture_output=True, text=True,
            env=self.environment, cwd=self.home, timeout=SECONDS, check=False,
        )  # fmt: skip

    def __call__(self, *arguments: str, given: Any = None) -> str:
        done = self.run(*arguments, given=given)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}\n{done.stderr}{done.stdout}"
        return done.stdout

    def error(self, *arguments: str, given: Any = None) -> str:
        """stderr of a call that must fail."""
        done = self.run(*arguments, given=given)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)} succeeded\n{done.stdout}"
        return done.stderr

    def object(self, *arguments: str, given: Any = None) -> Any:
        """The object that a command prints with `-o json`."""
        return json.loads(self(*arguments, "-o", "json", given=given))

    def value(self, path: str, *arguments: str) -> str:
        """`kubectl get ... -o jsonpath={path}`."""
        return self("get", *arguments, "-o", f"jsonpath={{{path}}}")

    def rows(self, *arguments: str) -> list[list[str]]:
        """The lines of a table, head first, cut at runs of blanks."""
        return [re.split(r" {2,}", line.rstrip()) for line in self(*arguments).splitlines()]

    @contextlib.contextmanager
    def following(self, *arguments: str) -> Iterator[Iterator[str]]:
        """The lines of a call that does not end by itself; after a time the lines just end, so that no test hangs."""
        process = subprocess.Popen(
            self.command(*arguments), stdout=subprocess.PIPE, text=True, env=self.environment, cwd=self.home
        )
        guard = threading.Timer(SECONDS, process.kill)
        guard.start()
        with process:
            assert process.stdout is not None
            try:
                yield iter(process.stdout)
            finally:
                guard.cancel()
                process.kill()


def _text(given: Any) -> str | None:
    """Text as it is, an object as JSON, several as a stream of YAML documents."""
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, list):
        return json.dumps(given)
    return "".join(f"---\n{json.dumps(one)}\n" for one in given)
