"""The help of a command that has subcommands: whole sentences, and the documentation's address.

click cuts the line of a subcommand after 45 characters, and has no words at the end of the help.
Owns nothing; the options and texts are those of each command.
"""

from __future__ import annotations

import click

from command.help_pages.documentation import documentation

_LINE_MAX = 1_000
"""The characters of a subcommand's line, which click wraps: in effect no limit."""


class CommandGroup(click.Group):
    """A group of commands whose help shows the first sentence of each command in full."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a row for each command that is not hidden: its name and its first sentence."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, first_sentence(command)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write how to get a command's help, and where the documentation is."""
        formatter.write_paragraph()
        formatter.write_text(f"Help of a command: {ctx.command_path} COMMAND --help")
        formatter.write_text(f"Documentation: {documentation()}")


def first_sentence(command: click.Command) -> str:
    """Return the command's short help, else the first sentence of its help. Never cut."""
    return command.get_short_help_str(_LINE_MAX)
