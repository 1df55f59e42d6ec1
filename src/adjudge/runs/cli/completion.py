"""``adjudge completion``: shell scripts that complete commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import FishComplete, ShellComplete, get_completion_class

from adjudge.runs.cli.options import argument, command
from adjudge.runs.cli.shell_names import COMPLETE_VARIABLE
from adjudge.runs.results.exit_code import ExitCode

SHELLS = ("bash", "zsh", "fish")


class _Fish(FishComplete):
    """Completion for fish. click's own script cuts names and descriptions at their first comma."""

    source_template = FishComplete.source_template.replace(
        'string split ","', 'string split -m 1 ","'
    )


@command("completion")
@argument("shell", "bash, zsh or fish.", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print a script that lets a shell complete commands, options, files and criteria.

    \b
    bash:  adjudge completion bash >> ~/.bashrc
    zsh:   adjudge completion zsh >> ~/.zshrc     (after compinit)
    fish:  adjudge completion fish > ~/.config/fish/completions/adjudge.fish
    """
    kind: type[ShellComplete] | None = _Fish if shell == "fish" else get_completion_class(shell)
    assert kind is not None  # click knows all three
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "adjudge", COMPLETE_VARIABLE).source())
    return ExitCode.OK
