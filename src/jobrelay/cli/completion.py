"""`jobrelay completion SHELL`: prints a shell script that completes commands, options and names of clusters."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash:  jobrelay completion bash > ~/.local/share/bash-completion/completions/jobrelay
    zsh:   jobrelay completion zsh > "${fpath[1]}/_jobrelay"
    fish:  jobrelay completion fish > ~/.config/fish/completions/jobrelay.fish
    """
    completer = get_completion_class(shell)
    assert completer is not None, shell
    root = ctx.find_root()
    script = completer(root.command, {}, "jobrelay", "_JOBRELAY_COMPLETE")
    click.echo(script.source_template % script.source_vars())
