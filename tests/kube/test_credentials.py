from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import msgspec
import pytest

from jobrelay.kube import CredentialsError, FakeClock
from jobrelay.kube.credentials import Certificate, Credential, StaticCredentials, TokenFile, basic
from jobrelay.kube.exec_plugin import ExecConfig, ExecPlugin

V1 = "client.authentication.k8s.io/v1"


def plugin(tmp_path: Path, status: dict[str, str], clock: FakeClock, *, version: str = V1, code: int = 0) -> ExecPlugin:
    """A plugin that prints a status, and counts its runs in a file."""
    answer = {"kind": "ExecCredential", "apiVersion": version, "status": status}
    script = tmp_path / "plugin.py"
    script.write_text(
        "import os, pathlib, sys\n"
        f"runs = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "with runs.open('a') as file: file.write(os.environ['KUBERNETES_EXEC_INFO'] + os.environ['EXTRA'] + '\\n')\n"
        f"print({msgspec.json.encode(answer).decode()!r})\n"
        f"sys.exit({code})\n"
    )
    config = {
        "command": sys.executable,
        "apiVersion": V1,
        "args": [str(script)],
        "env": [{"name": "EXTRA", "value": "!"}],
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    return ExecPlugin(msgspec.convert(config, ExecConfig), {"server": "https://s"}, clock=clock)


def runs(tmp_path: Path) -> list[str]:
    return (tmp_path / "runs").read_text().splitlines()


async def test_static_credentials_have_nothing_better_to_offer() -> None:
    credentials = StaticCredentials(Credential(basic("u", "p")))
    assert (await credentials.current()).authorization == "Basic dTpw"
    assert not credentials.refused(await credentials.current())


def test_secrets_do_not_show_in_logs() -> None:
    shown = repr(Credential("Bearer s3cret", Certificate(b"chain", b"key")))
    assert shown == "Credential(scheme=Bearer, certificate=True)"


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path, clock: FakeClock) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    credentials = TokenFile(file, clock=clock)
    assert (await credentials.current()).authorization == "Bearer one"
    file.write_text("two")
    await clock.advance(59)
    assert (await credentials.current()).authorization == "Bearer one"
    await clock.advance(2)
    assert (await credentials.current()).authorization == "Bearer two"


async def test_a_refused_token_is_read_again_at_once(tmp_path: Path, clock: FakeClock) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = TokenFile(file, clock=clock)
    refused = await credentials.current()
    assert not credentials.refused(refused)
    file.write_text("two")
    assert credentials.refused(refused)
    assert (await credentials.current()).authorization == "Bearer two"


async def test_a_token_file_that_vanishes_keeps_the_last_token(tmp_path: Path, clock: FakeClock) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = TokenFile(file, clock=clock)
    await credentials.current()
    file.unlink()
    await clock.advance(61)
    assert (await credentials.current()).authorization == "Bearer one"


@pytest.mark.parametrize("content", [None, " \n"])
async def test_a_token_file_must_hold_a_token(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CredentialsError, match="token file"):
        await TokenFile(file).current()


async def test_an_exec_plugin_is_run_once_for_many_requests(tmp_path: Path, clock: FakeClock) -> None:
    credentials = plugin(tmp_path, {"token": "t"}, clock)
    found = await asyncio.gather(*[credentials.current() for _ in range(5)])
    assert {one.authorization for one in found} == {"Bearer t"}
    [run] = runs(tmp_path)
    info = msgspec.json.decode(run.removesuffix("!"))
    assert info["spec"] == {"interactive": False, "cluster": {"server": "https://s"}}


async def test_an_exec_plugin_runs_again_when_its_credential_expires(tmp_path: Path, clock: FakeClock) -> None:
    credentials = plugin(tmp_path, {"token": "t", "expirationTimestamp": "2026-01-01T00:10:00Z"}, clock)
    await credentials.current()
    await clock.advance(599)
    await credentials.current()
    assert len(runs(tmp_path)) == 1
    await clock.advance(2)
    await credentials.current()
    assert len(runs(tmp_path)) == 2


async def test_an_exec_plugin_runs_again_when_its_credential_is_refused(tmp_path: Path, clock: FakeClock) -> None:
    credentials = plugin(tmp_path, {"token": "t"}, clock)
    assert credentials.refused(await credentials.current())
    await credentials.current()
    assert len(runs(tmp_path)) == 2


async def test_an_exec_plugin_may_return_a_certificate(tmp_path: Path, clock: FakeClock) -> None:
    credentials = plugin(tmp_path, {"clientCertificateData": "C", "clientKeyData": "K"}, clock)
    assert await credentials.current() == Credential(None, Certificate(b"C", b"K"))


@pytest.mark.parametrize(
    ("status", "complaint"),
    [({}, "neither a token nor"), ({"clientKeyData": "K"}, "only one of certificate and key")],
)
async def test_an_exec_plugin_must_return_something(
    tmp_path: Path, clock: FakeClock, status: dict[str, str], complaint: str
) -> None:
    with pytest.raises(CredentialsError, match=complaint):
        await plugin(tmp_path, status, clock).current()


async def test_an_exec_plugin_must_speak_the_configured_version(tmp_path: Path, clock: FakeClock) -> None:
    with pytest.raises(CredentialsError, match="v1beta1"):
        await plugin(tmp_path, {"token": "t"}, clock, version=f"{V1}beta1").current()


async def test_a_failing_exec_plugin_says_so(tmp_path: Path, clock: FakeClock) -> None:
    with pytest.raises(CredentialsError, match="exit code 3"):
        await plugin(tmp_path, {"token": "t"}, clock, code=3).current()


async def test_a_missing_exec_plugin_gives_its_install_hint() -> None:
    config = ExecConfig("no-such-plugin", V1, install_hint="install it with brew", interactive_mode="Never")
    with pytest.raises(CredentialsError, match=r"cannot be run(.|\n)*install it with brew"):
        await ExecPlugin(config).current()


@pytest.mark.skipif(os.isatty(0), reason="standard input is a terminal here")
async def test_a_plugin_that_needs_a_terminal_says_so() -> None:
    with pytest.raises(CredentialsError, match="needs a terminal"):
        await ExecPlugin(ExecConfig("x", V1, interactive_mode="Always")).current()


@pytest.mark.parametrize(("version", "mode"), [("client.authentication.k8s.io/v1alpha1", "Never"), (V1, ""), (V1, "x")])
def test_exec_configuration_is_checked_early(version: str, mode: str) -> None:
    with pytest.raises(CredentialsError):
        ExecPlugin(ExecConfig("x", version, interactive_mode=mode))
