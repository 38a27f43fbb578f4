"""`ottla completion bash|zsh|fish`: the script that a shell reads to complete commands.

The shell asks `ottla` itself at each tab (`shells`), which asks the cluster for topics and groups
(`command.completion.completing`). Owns nothing.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from command.completion import VARIABLE
from command.completion.shells import use_own_shells
from command.output import echo

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the script by which a shell completes commands, topics and groups.

    \b
    Load the script with:
      bash   eval "$(ottla completion bash)"      in ~/.bashrc
      zsh    eval "$(ottla completion zsh)"       in ~/.zshrc
      fish   ottla completion fish | source       in ~/.config/fish/config.fish
    """
    use_own_shells()
    kind = get_completion_class(shell)
    assert kind is not None
    echo(kind(click.get_current_context().find_root().command, {}, "ottla", VARIABLE).source())
